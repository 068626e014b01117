/**
 * Before anybody starts or restarts for a spec, the API server is asked whether it would take such a Pod at all: by
 * its own rules, by admission, with the accounts and classes there are. What it refuses is reported in the status, and
 * what runs goes on as it was. A server that gave no verdict has neither refused nor agreed: it is asked again, and
 * nobody stops meanwhile.
 */
import type { ClusterFacts, PlatformFacts } from "../../core/observation.ts";
import { clusterToken, type MemberAddress, type MemberRecord } from "../../core/record.ts";
import { withoutEffective } from "../../core/template/effective.ts";
import { templateFor, templateHash } from "../../core/template/template.ts";
import type { KubeClient } from "../../kube/client.ts";
import { KubeError, type KubeReason } from "../../kube/errors.ts";
import { apiVersionOf, pathOf, pods } from "../../kube/resources.ts";
import type { Clock } from "../../seams/clock.ts";
import { memberPod } from "../render/pod.ts";

/** An account or a class that was missing may be there by now, and a server that gave no answer may give one. */
const ASK_AGAIN_MS = 10_000;

const REFUSALS: ReadonlySet<KubeReason> = new Set(["Invalid", "Forbidden", "BadRequest", "TooLarge"]);

/**
 * No code tells these apart. A quota counts the Pod that is about to go; and a webhook that cannot be asked this
 * way may well agree.
 */
const NOT_MEANT = /exceeded quota|does not support dry run/;
/** A webhook chooses the code of its refusal, and some choose 500; the words before its own are the server's. */
const DENIED = /admission webhook "[^"]+" denied the request/;

export type Verdict = Pick<PlatformFacts, "refusedWorkload" | "unverifiedWorkload">;

const TAKEN: Verdict = {};

interface Known {
  readonly hash: string;
  readonly verdict: Verdict;
  /** By the monotonic clock; what was taken once is taken again. */
  readonly until: number;
}

export class Preflight {
  readonly #client: KubeClient;
  readonly #clock: Clock;
  #known: Known | undefined;

  constructor(client: KubeClient, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  /** Why no Pod can be made from the spec, or why that is not known; empty when one can, or when none is to be made. */
  async verdict(
    cluster: ClusterFacts,
    records: readonly MemberRecord[],
    address: MemberAddress | undefined,
  ): Promise<Verdict> {
    const { spec, deleting } = cluster;
    if (deleting || spec.paused || spec.replicas === 0 || address === undefined) return TAKEN;
    const template = templateFor(spec, spec.version);
    const hash = templateHash(template);
    const staying = records.filter(({ leaving }) => leaving === undefined);
    if (staying.length > 0 && staying.every((one) => templateHash(withoutEffective(one.template)) === hash))
      return TAKEN;
    const known = this.#known;
    if (known?.hash === hash && this.#clock.monotonic() < known.until) return known.verdict;
    const verdict = await this.#ask(cluster, pretended(cluster, template, address));
    // From after the answer: one that takes long to come is not asked for again at once.
    const until = verdict === TAKEN ? Number.POSITIVE_INFINITY : this.#clock.monotonic() + ASK_AGAIN_MS;
    this.#known = { hash, verdict, until };
    return verdict;
  }

  async #ask(cluster: ClusterFacts, record: MemberRecord): Promise<Verdict> {
    const pod = memberPod(cluster, record, { role: "learner", gated: false });
    try {
      await this.#client.call(pods, "dry-run", {
        method: "POST",
        path: pathOf(pods, { namespace: cluster.namespace }),
        // Strict: a misspelt field of a sidecar would be dropped in silence.
        query: { dryRun: "All", fieldValidation: "Strict" },
        body: { apiVersion: apiVersionOf(pods), kind: pods.kind, ...pod },
      });
      return TAKEN;
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      if (error.reason === "AlreadyExists" || NOT_MEANT.test(error.message)) return TAKEN;
      const { reason, message } = error;
      if (REFUSALS.has(reason) || DENIED.test(message)) return { refusedWorkload: textOf(error) };
      return { unverifiedWorkload: message };
    }
  }
}

function textOf({ causes, message }: KubeError): string {
  const fields = causes.flatMap(({ field, message: why }) => (field ? [`${field}: ${why}`] : []));
  return fields.join("; ") || message;
}

/** A member that is nobody's: only what its Pod is made from matters. */
export function pretended(
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
