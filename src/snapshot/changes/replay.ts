/**
 * Replays recorded changes into an etcd that holds their base: one transaction for each revision, which has to come out
 * with the same revision number, on keys that are as they were before it. So a wrong base, a missing change or one too
 * many ends it, and nothing wrong is ever handed on.
 */
import type { EtcdClient } from "../../etcd/client.ts";
import { ops, type Comparison, type Operation } from "../../etcd/kv.ts";
import { Compare_CompareResult, Compare_CompareTarget } from "../../etcd/proto/rpc_pb.ts";
import { ChangeLogError } from "./errors.ts";
import type { LeaseKeeper } from "./lease-keeper.ts";
import type { PutChange, RevisionRecord } from "./record.ts";
import type { Step } from "./reader.ts";

/** A lease that was gone before its TTL could be read gets this: it has to outlive the replay, and then soon ends. */
export const UNKNOWN_TTL_SECONDS = 60;

/** Flags of the scratch etcd: no limit of its own may be in the way of a transaction that was possible once. */
export const REPLAY_FLAGS: readonly string[] = [
  "--max-txn-ops=4294967295",
  `--max-request-bytes=${512 * 1024 * 1024}`,
  `--quota-backend-bytes=${2 ** 40}`,
  // The shortest lease is half as long again as an election: these make it one second.
  "--heartbeat-interval=10",
  "--election-timeout=100",
  // It is thrown away, whatever happens to the machine.
  "--unsafe-no-fsync=true",
];

const WRITE_MS = 120_000;

export interface ReplayOptions {
  readonly client: EtcdClient;
  readonly leases: Pick<LeaseKeeper, "has" | "grant" | "check">;
  readonly steps: AsyncIterable<Step>;
  readonly signal: AbortSignal;
  readonly progress?: (revision: number) => void;
}

/** The last record that was replayed; undefined where there was none. */
export async function replay(options: ReplayOptions): Promise<RevisionRecord | undefined> {
  const { steps, leases, progress } = options;
  let last: RevisionRecord | undefined;
  for await (const step of steps) {
    leases.check();
    await apply(options, step);
    last = step.record;
    progress?.(last.revision);
  }
  leases.check();
  return last;
}

async function apply({ client, leases, signal }: ReplayOptions, step: Step): Promise<void> {
  const { record, segment } = step;
  const differs = (how: string) =>
    new ChangeLogError(
      "differs",
      `revision ${record.revision} of the segment ${segment} does not fit the state before it: ${how}. Nothing was restored. Use another snapshot.`,
    );
  const compare: Comparison[] = [];
  const success: Operation[] = [];
  for (const change of record.changes) {
    if (change.type === "delete") success.push(ops.delete(change.key));
    else {
      compare.push(...asBefore(change));
      success.push(ops.put(change.key, change.value, change.lease));
      if (change.version === 1 && change.createRevision !== record.revision)
        throw differs(`a key of version 1 was created at revision ${change.createRevision}`);
      await granted(leases, step, change);
    }
  }
  const { header, succeeded, responses } = await client.kv.txn(
    { compare, success },
    { timeoutMs: WRITE_MS, signal },
  );
  if (!succeeded) throw differs("a key has another version or was created at another revision");
  if (Number(header.revision) !== record.revision)
    throw differs(`the scratch etcd wrote it as revision ${header.revision}`);
  const absent = responses.some(
    ({ response }) => response.case === "responseDeleteRange" && response.value.deleted !== 1n,
  );
  if (absent) throw differs("a key that it deletes is not there");
}

function asBefore({ key, version, createRevision }: PutChange): Comparison[] {
  const bytes = new Uint8Array(key);
  const result = Compare_CompareResult.EQUAL;
  const before: Comparison = {
    key: bytes,
    result,
    target: Compare_CompareTarget.VERSION,
    targetUnion: { case: "version", value: BigInt(version - 1) },
  };
  if (version === 1) return [before];
  const created: Comparison = {
    key: bytes,
    result,
    target: Compare_CompareTarget.CREATE,
    targetUnion: { case: "createRevision", value: BigInt(createRevision) },
  };
  return [before, created];
}

async function granted(leases: ReplayOptions["leases"], step: Step, { lease }: PutChange): Promise<void> {
  if (lease === 0n || leases.has(lease)) return;
  const recorded = step.leases.get(lease);
  if (recorded === undefined)
    throw new ChangeLogError(
      "damaged",
      `the segment ${step.segment} does not report the TTL of lease ${lease.toString(16)}. Points before revision ${step.record.revision} can be restored.`,
    );
  await leases.grant(lease, recorded.ttl > 0 ? recorded.ttl : UNKNOWN_TTL_SECONDS);
}
