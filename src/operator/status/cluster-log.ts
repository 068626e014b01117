/**
 * What the log says of one cluster: each step with who, why and how long it took, and each change of its state; at
 * level debug each pass. Every line carries the names that logs are searched by.
 */
import type { EtcdClusterStatus } from "../../api/etcd-cluster-status.ts";
import type { Pass } from "../../control/loop.ts";
import { describeEntry, type TranscriptEntry } from "../../control/transcript.ts";
import { findCondition } from "../../core/status/condition.ts";
import type { Log, LogFields } from "../../kube/log.ts";
import { refOf } from "../../kube/resources.ts";

export class ClusterLog {
  readonly #log: Log;
  readonly #names: LogFields;
  #state = "";

  constructor(log: Log, key: string) {
    this.#log = log;
    this.#names = clusterFields(key);
  }

  step(entry: TranscriptEntry): void {
    const { step, member, error, tookMs: ms } = entry;
    const fields = { ...this.#names, member, step, reason: entry.rule, ms };
    this.#log(error === undefined ? "info" : "warn", describeEntry(entry), {
      ...fields,
      ...(error !== undefined && { error }),
    });
  }

  pass({
    number,
    status,
    decision,
    failure,
  }: Pick<Pass, "number" | "status" | "decision" | "failure">): void {
    const step = decision.act?.action.kind;
    const error = failure?.message;
    this.#log("debug", `pass ${number}`, {
      ...this.#fields(status),
      step,
      ...(error !== undefined && { error }),
    });
    this.state(status);
  }

  /** Said once for each phase and reason: sentences that count seconds are no news. */
  state(status: EtcdClusterStatus): void {
    const fields = this.#fields(status);
    const state = `${status.phase} ${fields.reason}`;
    if (state === this.#state) return;
    this.#state = state;
    const isBad = findCondition(status.conditions, "Stalled")?.status === "True";
    this.#log(isBad ? "warn" : "info", `${status.phase}: ${status.message}`, fields);
  }

  #fields({ conditions }: EtcdClusterStatus): LogFields {
    return { ...this.#names, reason: findCondition(conditions, "Ready")?.reason };
  }
}

export function clusterFields(key: string): LogFields {
  const { namespace, name } = refOf(key);
  return { namespace, cluster: name };
}
