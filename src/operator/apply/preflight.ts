/**
 * Before anybody starts or restarts for a spec, the API server is asked whether it would take such a Pod at all: by
 * its own rules, by admission, with the accounts and classes there are. What it refuses is reported in the status, and
 * what runs goes on as it was. A server that gave no verdict has neither refused nor agreed: it is asked again, and
 * nobody stops meanwhile.
 */
import type { PlatformMember } from "../../control/platform.ts";
import type { ClusterFacts, NotMade, PlatformFacts } from "../../core/observation.ts";
import { clusterToken, type MemberAddress, type MemberRecord } from "../../core/record.ts";
import { withoutEffective } from "../../core/template/effective.ts";
import { isVolatile, templateFor, templateHash } from "../../core/template/template.ts";
import type { KubeClient } from "../../kube/client.ts";
import { KubeError, type KubeReason } from "../../kube/errors.ts";
import { apiVersionOf, pathOf, pods } from "../../kube/resources.ts";
import type { Clock } from "../../seams/clock.ts";
import { partsOf } from "./not-made.ts";
import { memberPod } from "../render/pod.ts";

/** An account or a class that was missing may be there by now, and a server that gave no answer may give one. */
const ASK_AGAIN_MS = 10_000;

const REFUSALS: ReadonlySet<KubeReason> = new Set(["Invalid", "Forbidden", "BadRequest", "TooLarge"]);

/** No code tells these apart. A webhook that cannot be asked this way may well agree. */
const NOT_ASKABLE = /does not support dry run/;
/** It counts the Pod that is about to go. */
const OVER_QUOTA = /exceeded quota/;
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
  /** By the UID of the record of a member that is about to join. */
  readonly #joiners = new Map<string, Omit<Known, "hash">>();

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
    const asked = await this.#ask(cluster, pretended(cluster, template, address));
    const verdict = OVER_QUOTA.test(asked.refusedWorkload ?? "") ? TAKEN : asked;
    // From after the answer: one that takes long to come is not asked for again at once.
    const until = verdict === TAKEN ? Number.POSITIVE_INFINITY : this.#clock.monotonic() + ASK_AGAIN_MS;
    this.#known = { hash, verdict, until };
    return verdict;
  }

  /**
   * A newcomer has no Pod before etcd knows of it, and a learner that never starts has the place of one that would. So
   * it is known before whether its Pod would be refused; here a quota counts, since no other Pod goes.
   */
  async joiners(
    cluster: ClusterFacts,
    members: readonly PlatformMember[],
  ): Promise<readonly PlatformMember[]> {
    const coming = cluster.deleting || cluster.spec.paused ? [] : members.filter(isToBeAdded);
    const uids = new Set(coming.map(({ record }) => record.uid));
    for (const uid of this.#joiners.keys()) if (!uids.has(uid)) this.#joiners.delete(uid);
    const refused = new Map<PlatformMember, NotMade>();
    for (const member of coming) {
      const why = await this.#refusalOf(cluster, member);
      if (why !== undefined) refused.set(member, { reason: "PodRefused", message: why });
    }
    return refused.size === 0
      ? members
      : members.map((member) => {
          const notMade = refused.get(member);
          return notMade ? { ...member, workload: { state: "absent", notMade } } : member;
        });
  }

  async #refusalOf(cluster: ClusterFacts, { record }: PlatformMember): Promise<string | undefined> {
    const { uid, name, template, address } = record;
    let known = this.#joiners.get(uid);
    if (known === undefined || this.#clock.monotonic() >= known.until) {
      const verdict = await this.#ask(cluster, pretended(cluster, template, address));
      known = { verdict, until: this.#clock.monotonic() + ASK_AGAIN_MS };
      this.#joiners.set(uid, known);
    }
    const { refusedWorkload, unverifiedWorkload } = known.verdict;
    const why = refusedWorkload ?? unverifiedWorkload;
    return why === undefined ? undefined : `${partsOf.pod(name)}: ${why}`;
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
      if (error.reason === "AlreadyExists" || NOT_ASKABLE.test(error.message)) return TAKEN;
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

/** Recorded, and etcd was not told of it. */
function isToBeAdded({ record, workload }: PlatformMember): boolean {
  return (
    record.boot === "Join" &&
    !record.joined &&
    record.memberID === undefined &&
    record.leaving === undefined &&
    // A Pod that is its own volume is made before.
    !isVolatile(record.template) &&
    workload.state === "absent" &&
    workload.notMade === undefined
  );
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
