/**
 * Maintenance calls. Status, hashes, defragmentation and snapshots are about one member, so they take
 * its endpoint; alarms and downgrades are about the cluster and go to voters; MoveLeader to the leader.
 */
import type { Endpoint } from "../seams/etcd-transport.ts";
import type { Caller } from "./caller.ts";
import { toAlarms, toHashKv, toStatus } from "./convert.ts";
import {
  AlarmRequest_AlarmAction,
  AlarmType,
  DowngradeRequest_DowngradeAction,
  Maintenance,
} from "./proto/rpc_pb.ts";
import { openSnapshot, type SnapshotOptions, type SnapshotStream } from "./snapshot-stream.ts";
import type { Alarm, AlarmKind, CallOptions, HashKv, MemberStatus } from "./types.ts";

const { method } = Maintenance;

/** Defragmentation blocks the member about 15 s per GB (H12); hashing reads the whole database. */
const DEFRAGMENT_TIMEOUT_MS = 300_000;
const HASH_TIMEOUT_MS = 60_000;

export type DowngradeAction = "VALIDATE" | "ENABLE" | "CANCEL";

export class MaintenanceCalls {
  readonly #caller: Caller;
  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /** Answers on learners and without quorum too. */
  async status(endpoint: Endpoint, options: CallOptions = {}): Promise<MemberStatus> {
    return toStatus(await this.#caller.at(endpoint, method.status, {}, options));
  }

  async alarms(options: CallOptions = {}): Promise<readonly Alarm[]> {
    const request = { action: AlarmRequest_AlarmAction.GET, alarm: AlarmType.NONE };
    const answer = await this.#caller.voter(method.alarm, request, { ...options, repeatable: true });
    return toAlarms(answer.alarms);
  }

  /** Raises an alarm by hand (tests and drills). */
  async raiseAlarm(memberId: bigint, alarm: AlarmKind, options: CallOptions = {}): Promise<readonly Alarm[]> {
    const request = { action: AlarmRequest_AlarmAction.ACTIVATE, memberId, alarm: AlarmType[alarm] };
    return toAlarms(
      (await this.#caller.voter(method.alarm, request, { ...options, repeatable: true })).alarms,
    );
  }

  /** Disarms one member's alarm; disarming what is not raised is no error. */
  async disarm(memberId: bigint, alarm: AlarmKind, options: CallOptions = {}): Promise<readonly Alarm[]> {
    const request = { action: AlarmRequest_AlarmAction.DEACTIVATE, memberId, alarm: AlarmType[alarm] };
    return toAlarms(
      (await this.#caller.voter(method.alarm, request, { ...options, repeatable: true })).alarms,
    );
  }

  /** Blocks the member's reads and writes while it runs (R29). Refused on learners (H8). */
  async defragment(endpoint: Endpoint, options: CallOptions = {}): Promise<void> {
    await this.#caller.at(endpoint, method.defragment, {}, { timeoutMs: DEFRAGMENT_TIMEOUT_MS, ...options });
  }

  /** Hash of the whole backend file: only for tests, it differs between members by nature. */
  async hash(endpoint: Endpoint, options: CallOptions = {}): Promise<number> {
    const answer = await this.#caller.at(
      endpoint,
      method.hash,
      {},
      { timeoutMs: HASH_TIMEOUT_MS, ...options },
    );
    return answer.hash;
  }

  /** Hash of the keys up to `revision` (0: the member's latest). Refused on learners (H8). */
  async hashKv(endpoint: Endpoint, revision: bigint, options: CallOptions = {}): Promise<HashKv> {
    const limits = { timeoutMs: HASH_TIMEOUT_MS, ...options };
    return toHashKv(await this.#caller.at(endpoint, method.hashKV, { revision }, limits));
  }

  /** Streams the member's database; see `SnapshotStream` for how it is verified (R23). */
  snapshot(endpoint: Endpoint, options: SnapshotOptions = {}): SnapshotStream {
    return openSnapshot(this.#caller, endpoint, options);
  }

  /** Hands leadership to a voter (R20). */
  async moveLeader(target: bigint, options: CallOptions = {}): Promise<void> {
    await this.#caller.leader(method.moveLeader, { targetId: target }, options);
  }

  /**
   * One step of the online downgrade (R15); `version` is a minor, as "3.6". Returns the cluster's version. In a
   * mixed cluster a member of 3.5 gives no answer, so name one that has the higher minor (H13).
   */
  async downgrade(
    action: DowngradeAction,
    version: string,
    { endpoint, ...options }: CallOptions & { endpoint?: Endpoint } = {},
  ): Promise<string> {
    const request = { action: DowngradeRequest_DowngradeAction[action], version };
    const repeatable = action === "VALIDATE";
    const answer = endpoint
      ? await this.#caller.at(endpoint, method.downgrade, request, options)
      : await this.#caller.voter(method.downgrade, request, { ...options, repeatable });
    return answer.version;
  }

  /** The endpoint of the member that leads now. */
  async leader(options: CallOptions = {}): Promise<Endpoint> {
    return await this.#caller.findLeader(options);
  }
}
