/**
 * The Job controller, for Jobs of one Pod at a time: a Pod, and another one after it failed, until one succeeds, the
 * limit or the deadline is reached, or an exit code ends it at once. A finished Job goes after its time to live.
 */
import { Hand, Later, type Surround } from "../controllers.ts";
import { jobs } from "../kinds/job.ts";
import { pods } from "../kinds/pod.ts";
import { items, json, type Json, type KubeJson } from "../object.ts";
import type { ModelServer } from "../server.ts";

/** Between two Pods of a Job: ten seconds at first, then twice as much each time. */
const BACK_OFF_MS = 10_000;

export class JobController {
  readonly #server: ModelServer;
  readonly #hand: Hand;
  readonly #later: Later;
  readonly #random: Surround["random"];
  readonly #now: () => number;
  #made = 0;

  constructor(around: Surround, now: () => number) {
    this.#server = around.server;
    this.#random = around.random;
    this.#now = now;
    this.#hand = new Hand(around.server, "kube-controller-manager");
    this.#later = new Later(around, (key) => this.#look(key));
    around.server.storage.onChange(({ kind, key, type, after }) => {
      if (kind === jobs && type !== "DELETED") this.#later.wake(key);
      const owner = after.object.metadata.ownerReferences?.find((one) => one.kind === jobs.kind);
      if (kind === pods && owner) this.#later.wake(`${after.object.metadata.namespace}/${owner.name}`);
    });
  }

  #look(key: string): void {
    const job = this.#server.get(jobs, key);
    if (!job || job.metadata.deletionTimestamp !== undefined) return;
    const status = json(job["status"]);
    const spec = json(job["spec"]);
    const over = items(status["conditions"]).map(json)[0];
    if (over) {
      const ttl = Number(spec["ttlSecondsAfterFinished"] ?? Infinity) * 1_000;
      const leftMs = Date.parse(String(over["lastTransitionTime"])) + ttl - this.#now();
      if (leftMs <= 0) this.#hand.delete(jobs, key, { propagation: "Background" });
      else if (Number.isFinite(leftMs)) this.#later.wake(key, leftMs);
      return;
    }
    const own = this.#podsOf(job);
    const phases = own.map((pod) => String(json(pod["status"])["phase"]));
    const startTime = String(status["startTime"] ?? this.#at());
    const deadline = Number(spec["activeDeadlineSeconds"] ?? Infinity) * 1_000;
    const leftMs = Date.parse(startTime) + deadline - this.#now();
    if (phases.includes("Succeeded")) return this.#end(key, "Complete", "CompletionsReached");
    if (leftMs <= 0) return this.#end(key, "Failed", "DeadlineExceeded");
    const failed = own.filter((_, index) => phases[index] === "Failed");
    if (failed.some((pod) => isDefinite(spec, pod))) return this.#end(key, "Failed", "PodFailurePolicy");
    if (failed.length > Number(spec["backoffLimit"] ?? 6))
      return this.#end(key, "Failed", "BackoffLimitExceeded");
    if (status["startTime"] === undefined) {
      this.#hand.changeStatus(jobs, key, () => ({ startTime }));
      if (Number.isFinite(leftMs)) this.#later.wake(key, leftMs);
    }
    if (own.length > failed.length) return;
    const waitMs = failed.length === 0 ? 0 : BACK_OFF_MS * 2 ** (failed.length - 1);
    const since = Math.max(0, ...failed.map(endOf));
    if (since + waitMs > this.#now()) return this.#later.wake(key, since + waitMs - this.#now());
    this.#hand.create(pods, this.#podFor(job));
  }

  #podsOf({ metadata: { uid, namespace } }: KubeJson): KubeJson[] {
    return this.#server
      .list(pods)
      .filter(
        ({ metadata }) =>
          metadata.namespace === namespace && metadata.ownerReferences?.some((one) => one.uid === uid),
      );
  }

  #podFor(job: KubeJson): Json {
    const { name, namespace, uid } = job.metadata;
    const template = json(json(job["spec"])["template"]);
    const suffix = `${"bcdfg"[this.#random.between(0, 4)]}${(++this.#made).toString(36).padStart(4, "0")}`;
    return {
      apiVersion: "v1",
      kind: "Pod",
      metadata: {
        name: `${name}-${suffix}`,
        namespace,
        labels: json(template["metadata"])["labels"],
        ownerReferences: [
          { apiVersion: "batch/v1", kind: "Job", name, uid, controller: true, blockOwnerDeletion: true },
        ],
      },
      spec: template["spec"],
    };
  }

  #end(key: string, type: string, reason: string): void {
    const at = this.#at();
    this.#hand.changeStatus(jobs, key, (job) => ({
      ...json(job["status"]),
      conditions: [{ type, status: "True", reason, lastTransitionTime: at, lastProbeTime: at }],
    }));
    // What still runs has missed its time.
    const job = this.#server.get(jobs, key);
    for (const pod of job ? this.#podsOf(job) : [])
      if (!["Succeeded", "Failed"].includes(String(json(pod["status"])["phase"])))
        this.#hand.delete(pods, `${pod.metadata.namespace}/${pod.metadata.name}`);
  }

  #at(): string {
    return `${new Date(this.#now()).toISOString().slice(0, 19)}Z`;
  }
}

/** Of the container whose end was the Pod's: the last one, or one before it that failed. */
function terminatedIn(pod: KubeJson): Json & { readonly container?: unknown } {
  const status = json(pod["status"]);
  const all = [...items(status["containerStatuses"]), ...items(status["initContainerStatuses"])].map(json);
  const ended = all.map((one) => ({ ...json(json(one["state"])["terminated"]), container: one["name"] }));
  return ended.find((one) => "exitCode" in one && json(one)["exitCode"] !== 0) ?? ended[0] ?? {};
}

function endOf(pod: KubeJson): number {
  return Date.parse(String(terminatedIn(pod)["finishedAt"])) || 0;
}

function isDefinite(spec: Json, pod: KubeJson): boolean {
  const { exitCode: code, container } = terminatedIn(pod);
  return items(json(spec["podFailurePolicy"])["rules"])
    .map((rule) => json(json(rule)["onExitCodes"]))
    .some(
      ({ values, containerName }) =>
        containerName === container && (values as unknown[] | undefined)?.includes(code),
    );
}
