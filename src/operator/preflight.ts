/**
 * Before anybody starts or restarts for a spec, the API server is asked whether it would take such a Pod at all: by
 * its own rules, by admission, with the accounts and classes there are. What it refuses is told in the status, and
 * what runs goes on as it was.
 */
import type { ClusterFacts } from "../core/observation.ts";
import { clusterToken, type MemberAddress, type MemberRecord } from "../core/record.ts";
import { templateFor, templateHash } from "../core/template.ts";
import type { KubeClient } from "../kube/client.ts";
import { isReason, type KubeError } from "../kube/errors.ts";
import { apiVersionOf, pathOf, pods } from "../kube/resources.ts";
import type { Clock } from "../seams/clock.ts";
import { memberPod } from "./render/pod.ts";

/** An account or a class that was missing may be there by now, and a server that gave no answer may give one. */
const ASK_AGAIN_MS = 10_000;

/**
 * No code tells these apart. A quota counts the Pod that is about to go; and a webhook that cannot be asked this
 * way may well agree.
 */
const NO_VERDICT = /exceeded quota|does not support dry run/;

interface Verdict {
  readonly hash: string;
  readonly refused: string | undefined;
  /** By the monotonic clock; what was taken once is taken again. */
  readonly until: number;
}

export class Preflight {
  readonly #client: KubeClient;
  readonly #clock: Clock;
  #verdict: Verdict | undefined;

  constructor(client: KubeClient, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  /** Why no Pod can be made from the spec; undefined when one can, or when nobody is to be made from it. */
  async refusal(
    cluster: ClusterFacts,
    records: readonly MemberRecord[],
    address: MemberAddress | undefined,
  ): Promise<string | undefined> {
    const { spec, deleting } = cluster;
    if (deleting || spec.paused || spec.replicas === 0 || address === undefined) return undefined;
    const template = templateFor(spec, spec.version);
    const hash = templateHash(template);
    const staying = records.filter(({ leaving }) => leaving === undefined);
    if (staying.length > 0 && staying.every((one) => templateHash(one.template) === hash)) return undefined;
    const now = this.#clock.monotonic();
    const known = this.#verdict;
    if (known?.hash === hash && now < known.until) return known.refused;
    const answer = await this.#ask(cluster, pretended(cluster, template, address));
    const refused = answer === "unknown" ? undefined : answer?.why;
    const until = answer === undefined ? Number.POSITIVE_INFINITY : now + ASK_AGAIN_MS;
    this.#verdict = { hash, refused, until };
    return refused;
  }

  async #ask(cluster: ClusterFacts, record: MemberRecord): Promise<{ why: string } | "unknown" | undefined> {
    const pod = memberPod(cluster, record, { role: "learner", gated: false });
    try {
      await this.#client.call(pods, "dry-run", {
        method: "POST",
        path: pathOf(pods, { namespace: cluster.namespace }),
        // Strict: a misspelt field of a sidecar would be dropped in silence.
        query: { dryRun: "All", fieldValidation: "Strict" },
        body: { apiVersion: apiVersionOf(pods), kind: pods.kind, ...pod },
      });
      return undefined;
    } catch (error) {
      if (isReason(error, "AlreadyExists")) return undefined;
      if (!isReason(error, "Invalid", "Forbidden", "BadRequest", "TooLarge")) return "unknown";
      return NO_VERDICT.test(error.message) ? undefined : { why: textOf(error) };
    }
  }
}

function textOf({ causes, message }: KubeError): string {
  const fields = causes.flatMap(({ field, message: why }) => (field ? [`${field}: ${why}`] : []));
  return `the API server refuses such a Pod: ${fields.join("; ") || message}`;
}

/** A member that is nobody's: only what its Pod is made from matters. */
function pretended(
  cluster: ClusterFacts,
  template: MemberRecord["template"],
  address: MemberAddress,
): MemberRecord {
  return {
    name: `${cluster.name}-preflight`,
    uid: cluster.uid,
    resourceVersion: "",
    createdAt: 0,
    ordinal: 0,
    role: "Voter",
    token: clusterToken(cluster.uid, cluster.marks),
    boot: "Join",
    address,
    initialCluster: [],
    joined: true,
    run: true,
    template,
  };
}
