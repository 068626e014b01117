/** What the certificates of members are to hold: issued for every name they are dialled by, or given with those they need. */
import { lifetimesOf } from "../../api/lifetimes.ts";
import { hasOwnGateway } from "../../core/config/gateway.ts";
import { sameContent } from "../../core/template/hash.ts";
import type { ClusterFacts } from "../../core/observation.ts";
import type { MemberRecord } from "../../core/record.ts";
import { clientLeaf, gatewayLeaf, givenLeaf, memberLeaf, PLANES, type Plane } from "../../pki/plan.ts";
import { memberSans } from "../../pki/sans.ts";
import type { LeafSpec } from "../../seams/pki.ts";
import { certificateNames, neededNames } from "../names.ts";
import { FILES } from "../render/config.ts";

interface KnownLeaf {
  /** What it was made from. */
  readonly by: {
    readonly extra: readonly string[];
    readonly given: boolean;
    readonly lifeMs: number;
    readonly ownGateway: boolean;
  };
  readonly spec: LeafSpec;
}

/** Of one cluster, whose name and namespace never change. */
export class LeafSpecs {
  readonly #clusterDomain: string | undefined;
  readonly #known = new Map<string, KnownLeaf>();

  constructor(clusterDomain: string | undefined) {
    this.#clusterDomain = clusterDomain;
  }

  /** Every pass asks, and the names hardly ever change. */
  of(
    cluster: ClusterFacts,
    record: MemberRecord,
    plane: Plane,
    { extra, given }: Pick<KnownLeaf["by"], "extra" | "given">,
  ): LeafSpec {
    const name = `${record.name} ${plane}`;
    const { leafMs: lifeMs } = lifetimesOf(cluster.spec.tls);
    const by = { extra, given, lifeMs, ownGateway: hasOwnGateway(record.template) };
    const known = this.#known.get(name);
    if (known && sameContent(known.by, by)) return known.spec;
    if (given) {
      const hosts = neededNames(cluster, record, plane);
      const { sans } = memberSans({ hosts, ...(plane === "client" && { extra }) });
      const spec = givenLeaf(record.name, plane, sans);
      this.#known.set(name, { by, spec });
      return spec;
    }
    const { hosts, domains } = certificateNames(cluster, record, plane, this.#clusterDomain);
    // R46: etcd looks the address of a peer up under the names in its certificate; our own loopback counts too.
    const { sans } = memberSans({
      hosts: [...hosts, "127.0.0.1", "::1"],
      domains,
      ...(plane === "client" && { extra }),
    });
    const spec = memberLeaf(record.name, plane, sans, by);
    this.#known.set(name, { by, spec });
    return spec;
  }

  /** The names in a certificate, by the name of the leaf. */
  sansOf(leaf: string): LeafSpec["sans"] | undefined {
    return this.#known.get(leaf)?.spec.sans;
  }

  forget(leaf: string): void {
    this.#known.delete(leaf);
  }
}

/** By these names a member's leaves are remembered and told. */
export function leavesOf(member: string, planes: readonly Plane[] = PLANES): string[] {
  return planes.flatMap((plane) => [`${member} ${plane}`, dialler(member, plane)]);
}

export function dialler(member: string, plane: Plane): string {
  return plane === "peer" ? `${member} peer client` : `${member} gateway`;
}

/** What a member dials its peers with, or its gateway the member itself. */
export function diallingLeaf(
  member: string,
  plane: Plane,
  lifeMs: number,
): { readonly who: string; readonly leaf: LeafSpec; readonly file: string } {
  const who = dialler(member, plane);
  return plane === "peer"
    ? { who, leaf: clientLeaf(member, lifeMs), file: FILES.peerClientPem }
    : { who, leaf: gatewayLeaf(lifeMs), file: FILES.gatewayPem };
}
