/**
 * Objects that bear a name of ours and belong to somebody else: told, and never touched (I9). Those with our label
 * are in the caches anyway; of the others we learn when we try to make ours, and look again now and then.
 */
import { canonical } from "../../core/template/hash.ts";
import type { Clash } from "../../core/observation.ts";
import { memberName } from "../../core/record.ts";
import type { KubeClient } from "../../kube/client.ts";
import { apiVersionOf, type KubeObject, type Ref, type Resource } from "../../kube/resources.ts";
import type { Clock } from "../../seams/clock.ts";
import { findOne } from "./keep.ts";
import { memberOfService, ordinalInName, secretNames, serviceNames } from "../names.ts";

interface Found {
  readonly resource: Resource;
  readonly ref: Ref;
  readonly belonging: string;
  lookAt: number;
}

/** What the garbage collector is about to take goes in a second or two. */
const RECHECK_MS = 2_000;

export class Clashes {
  readonly #client: KubeClient;
  readonly #clock: Clock;
  readonly #cluster: string;
  readonly #found = new Map<string, Found>();

  constructor(client: KubeClient, clock: Clock, cluster: string) {
    this.#client = client;
    this.#clock = clock;
    this.#cluster = cluster;
  }

  get found(): Clash[] {
    return [...this.#found.values()].map(({ resource, ref }) => clashOf(this.#cluster, resource.kind, ref));
  }

  /** True when it was not known. */
  add(resource: Resource, object: KubeObject): boolean {
    const { name = "", namespace = "" } = object.metadata ?? {};
    const ref = { name, namespace };
    const key = keyOf(resource, name);
    const lookAt = this.#clock.monotonic() + RECHECK_MS;
    const isNew = !this.#found.has(key);
    this.#found.set(key, { resource, ref, belonging: belongingOf(object), lookAt });
    return isNew;
  }

  /** Forgets those of names that nothing wants any more. True when there is one less. */
  keepOnly(wanted: readonly { readonly resource: Resource; readonly name: string }[]): boolean {
    const keys = new Set(wanted.map(({ resource, name }) => keyOf(resource, name)));
    const rest = [...this.#found.keys()].filter((key) => !keys.has(key));
    for (const key of rest) this.#found.delete(key);
    return rest.length > 0;
  }

  /** Forgets those that are gone or belong to somebody else by now, who may be us. True when there is one less. */
  async recheck(): Promise<boolean> {
    const now = this.#clock.monotonic();
    let fewer = false;
    for (const [key, clash] of this.#found) {
      if (now < clash.lookAt) continue;
      clash.lookAt = now + RECHECK_MS;
      const found = await findOne(this.#client, clash.resource, clash.ref);
      if (found && belongingOf(found) === clash.belonging) continue;
      this.#found.delete(key);
      fewer = true;
    }
    return fewer;
  }
}

function keyOf(resource: Resource, name: string): string {
  return `${apiVersionOf(resource)} ${resource.plural} ${name}`;
}

/** What says whose it is; the rest of a stranger's object may change as often as it likes. */
function belongingOf({ metadata }: KubeObject): string {
  return canonical([metadata?.uid, metadata?.ownerReferences ?? [], metadata?.labels ?? {}]);
}

/** What a clash stops, by the name that is taken. */
export function clashOf(cluster: string, kind: string, { name, namespace }: Ref): Clash {
  const object = `${kind} ${namespace}/${name}`;
  const ordinal = ordinalInName(cluster, kind === "Service" ? memberOfService(cluster, name) : name);
  if (ordinal > 0) return { object, concerns: "member", member: memberName(cluster, ordinal) };
  if (kind === "Service" && name === cluster)
    return { object, concerns: "users", offBy: "spec.service.clusterName" };
  const { client, learners } = serviceNames(cluster);
  const { clientCA, peerCA, tokenKeys } = secretNames(cluster);
  const forMembers =
    kind === "Service"
      ? name !== client && name !== learners
      : name === clientCA || name === peerCA || name === tokenKeys;
  return { object, concerns: forMembers ? "members" : "users" };
}
