/**
 * Before a recovery gives up the former members, the API server is asked whether it would take the claim and the Pod of
 * the first new one: quotas, admission policies, the rights of the operator. Whether a node and a volume are found for
 * it only the scheduler can tell, when it exists.
 */
import type { PersistentVolumeClaim, Pod } from "kubernetes-types/core/v1.d.ts";
import type { ClusterFacts, RescuedData } from "../../core/observation.ts";
import type { MemberAddress } from "../../core/record.ts";
import { templateFor } from "../../core/template/template.ts";
import type { KubeClient } from "../../kube/client.ts";
import { KubeError } from "../../kube/errors.ts";
import { apiVersionOf, pathOf, pods, type Resource } from "../../kube/resources.ts";
import { claims } from "../resources.ts";
import { memberClaim } from "../render/claim.ts";
import { memberPod } from "../render/pod.ts";
import { pretended } from "./preflight.ts";

/** What is in the way may be gone by then. */
const ASK_AGAIN_MS = 10_000;

/** A webhook that cannot be asked this way may well agree. */
const NOT_MEANT = /does not support dry run/;

export class PlaceCheck {
  readonly #client: KubeClient;
  readonly #now: () => number;
  #known: { readonly plan: string; readonly why: string | undefined; readonly at: number } | undefined;

  constructor(client: KubeClient, now: () => number) {
    this.#client = client;
    this.#now = now;
  }

  /** Why the first new member could not be made now; undefined when nothing is against it. */
  async verdict(
    cluster: ClusterFacts,
    rescued: RescuedData,
    address: MemberAddress | undefined,
    image: string | undefined,
  ): Promise<string | undefined> {
    if (address === undefined) return undefined;
    const known = this.#known;
    const isFresh = known?.plan === rescued.plan && this.#now() - known.at < ASK_AGAIN_MS;
    if (isFresh) return known.why;
    const template = templateFor(cluster.spec, cluster.spec.version);
    const record = {
      ...pretended(cluster, template, address),
      boot: "New" as const,
      joined: false,
      restore: { source: rescued.source, checksum: rescued.sha256 },
    };
    const how = {
      role: "voter" as const,
      gated: false,
      ...(rescued.node !== undefined && { node: rescued.node }),
      ...(image !== undefined && { image }),
    };
    const isClaimed = template.storage.medium === "Persistent";
    const why =
      (isClaimed ? await this.#ask(claims, memberClaim(cluster, record)) : undefined) ??
      (await this.#ask(pods, memberPod(cluster, record, how)));
    this.#known = { plan: rescued.plan, why, at: this.#now() };
    return why;
  }

  async #ask(resource: Resource, object: Pod | PersistentVolumeClaim): Promise<string | undefined> {
    const { namespace = "" } = object.metadata ?? {};
    try {
      await this.#client.call(resource, "dry-run", {
        method: "POST",
        path: pathOf(resource, { namespace }),
        query: { dryRun: "All" },
        body: { apiVersion: apiVersionOf(resource), kind: resource.kind, ...object },
      });
      return undefined;
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      if (error.reason === "AlreadyExists" || NOT_MEANT.test(error.message)) return undefined;
      return `the ${resource.kind} of the first new member: ${error.message}`;
    }
  }
}
