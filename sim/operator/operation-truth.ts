/**
 * What the statuses of operations say against what is so (I6): one runs at a time, an end is an end, a restart that
 * succeeded restarted every member it names, and, where nothing else was done meanwhile, each of them once.
 */
import type { EtcdOperation } from "../../src/api/etcd-operation.ts";
import { FINAL } from "../../src/core/operations/status.ts";
import { pods } from "../models/kube/kinds/pod.ts";
import { json } from "../models/kube/object.ts";
import { Violation } from "../oracles/oracle.ts";
import { etcdMembers, etcdOperations, NAME, NAMESPACE, type Environment } from "./environment.ts";

interface Followed {
  /** How many Pods each member had had when it was asked for. */
  readonly before: ReadonlyMap<string, number>;
  /** Something else was done since: then members may have restarted for other reasons. */
  disturbed: boolean;
  /** The cluster that there was when it was asked for, and how many snapshots had been fetched whole by then. */
  readonly clusterID: string | undefined;
  readonly fetched: number;
  ended?: string;
}

export class OperationTruth {
  readonly #env: Environment;
  /** The UIDs of the Pods that each member has had. */
  readonly #pods = new Map<string, Set<string>>();
  readonly #followed = new Map<string, Followed>();
  #count = 0;

  constructor(env: Environment) {
    this.#env = env;
  }

  next(): number {
    return ++this.#count;
  }

  /** `atRest`: nothing else is under way that could restart a member. */
  asked(name: string, atRest: boolean): void {
    this.disturb();
    this.#seePods();
    const before = new Map([...this.#pods].map(([member, uids]) => [member, uids.size]));
    this.#followed.set(name, {
      before,
      disturbed: !atRest || this.#unfinished().length > 1,
      clusterID: this.#env.established(),
      fetched: this.#env.fetches.whole,
    });
  }

  /**
   * A person approved that all members stop at once: a restore in place whose snapshot was fetched whole before. Whoever
   * belongs to the life that it began is not among them.
   */
  mayStopAll(member: string): boolean {
    const clusterID = this.#env.pods.server(member)?.dir.clusterID;
    return this.#unfinished().some(({ metadata, spec }) => {
      const followed = this.#followed.get(metadata.name);
      if (spec.restore?.approve === undefined || followed === undefined) return false;
      return followed.clusterID === clusterID && this.#env.fetches.whole > followed.fetched;
    });
  }

  disturb(): void {
    for (const one of this.#followed.values()) one.disturbed = true;
  }

  look(): void {
    this.#seePods();
    const operations = this.#operations();
    const running = operations.filter(({ status }) => status?.phase === "Running");
    if (running.length > 1)
      throw new Violation("I6", `${running.map(({ metadata }) => metadata.name).join(" and ")} run at once`);
    for (const operation of operations) this.#judge(operation);
  }

  /** How each one ended, or why it waits, by name. */
  outcomes(): string[] {
    return this.#operations()
      .map(({ metadata, status }) => `${metadata.name} ${status?.phase} ${status?.reason}`)
      .toSorted();
  }

  /** Those that can still come to something; one for another cluster waits on. */
  unfinished(): string[] {
    return this.#unfinished()
      .filter(({ spec }) => spec.cluster === NAME)
      .map(({ metadata, status }) => `${metadata.name} is ${status?.phase} (${status?.reason})`);
  }

  /** Those that finished and are to be deleted after their time: that is still to come, and must. */
  expiring(): string[] {
    return this.#operations()
      .filter(({ spec, status }) => spec.ttlSecondsAfterFinished !== undefined && FINAL.has(status?.phase))
      .map(({ metadata }) => `${metadata.name} is finished, and was not deleted after its time`);
  }

  /** The names of those for a cluster that does not exist: what they are told in their own time is no unrest. */
  elsewhere(): ReadonlySet<string> {
    return new Set(
      this.#operations()
        .filter(({ spec }) => spec.cluster !== NAME)
        .map(({ metadata }) => metadata.name),
    );
  }

  #judge({ metadata: { name, uid }, spec, status }: EtcdOperation): void {
    const followed = this.#followed.get(name);
    const phase = status?.phase ?? "";
    if (!followed) return;
    if (followed.ended !== undefined && followed.ended !== phase)
      throw new Violation("I6", `${name} was ${followed.ended}, and is ${phase} now`);
    if (!FINAL.has(phase as never) || followed.ended !== undefined) return;
    followed.ended = phase;
    if (phase === "Rejected" && status?.startedAt !== undefined)
      throw new Violation("I6", `${name} was rejected after it had started`);
    if (phase !== "Succeeded" || spec.restart === undefined) return;
    for (const member of status?.members ?? []) {
      const record = this.#env.server.get(etcdMembers, `${NAMESPACE}/${member}`);
      const recorded = json(record?.["spec"]);
      // Replaced meanwhile, or instead.
      if (recorded["restart"] !== uid || recorded["leaving"] !== undefined) continue;
      const made = (this.#pods.get(member)?.size ?? 0) - (followed.before.get(member) ?? 0);
      if (made < 1)
        throw new Violation("I6", `${name} says that it restarted ${member}, which has its old Pod`);
      if (made > 1 && !followed.disturbed)
        throw new Violation("I6", `${name} restarted ${member} ${made} times`);
    }
  }

  #operations(): EtcdOperation[] {
    return this.#env.server.list(etcdOperations) as unknown as EtcdOperation[];
  }

  #unfinished(): EtcdOperation[] {
    return this.#operations().filter(({ status }) => !FINAL.has(status?.phase));
  }

  #seePods(): void {
    for (const { metadata } of this.#env.server.list(pods)) {
      if (metadata.namespace !== NAMESPACE) continue;
      const uids = this.#pods.get(metadata.name) ?? new Set();
      this.#pods.set(metadata.name, uids.add(metadata.uid ?? ""));
    }
  }
}
