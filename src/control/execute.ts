/**
 * Carries out one action: one effect, idempotent. "Not found" after a removal and "exists already" after an
 * add mean done (H10); after a time-out nothing is repeated here, the next observation tells what happened.
 */
import type { Action } from "../core/action.ts";
import type { HashReport } from "../core/observation.ts";
import type { View } from "../core/view.ts";
import { isEtcdError, type EtcdErrorKind } from "../etcd/errors.ts";
import { parseId } from "../etcd/id.ts";
import type { Clock } from "../seams/clock.ts";
import { assertSafe } from "./invariants.ts";
import type { Observer } from "./observe.ts";
import { isObjectAction, type EtcdAction, type Platform } from "./platform.ts";

/** A membership change commits in milliseconds or not at all; the next pass looks again. */
const CHANGE_TIMEOUT_MS = 5_000;
const HASH_TIMEOUT_MS = 30_000;
/** Long enough to get on, short enough to look at the members in between. */
const ADVANCE_MS = 10_000;
const ADVANCE_AT_ONCE = 16;

export interface Executor {
  readonly platform: Platform;
  readonly observer: Observer;
  readonly clock: Clock;
}

export async function execute(executor: Executor, view: View, action: Action): Promise<void> {
  assertSafe(view, action);
  if (isObjectAction(action)) {
    await executor.platform.execute(action);
    if (action.kind === "ReissueCertificates")
      executor.observer.rememberReissue(action.member, action.operation);
  } else await callEtcd(executor, view, action);
}

async function callEtcd(executor: Executor, view: View, action: EtcdAction): Promise<void> {
  const { observer } = executor;
  const { cluster, maintenance, kv } = observer.client;
  const limit = { timeoutMs: CHANGE_TIMEOUT_MS };
  switch (action.kind) {
    case "AddLearner": {
      const add = cluster.memberAdd([action.peerURL], { learner: true, ...limit });
      return await done(add, "member-exists", "peer-url-exists");
    }
    case "UpdatePeerURL":
      // The same once more changes nothing (H10).
      await cluster.memberUpdate(parseId(action.memberID), [action.peerURL], limit);
      return;
    case "Promote":
      return await done(cluster.memberPromote(parseId(action.memberID), limit), "not-a-learner");
    case "RemoveFromEtcd": {
      const remove = cluster.memberRemove(parseId(action.memberID), { ...limit, name: action.member });
      return await done(remove, "member-not-found");
    }
    case "MoveLeader":
      return await maintenance.moveLeader(parseId(action.memberID), limit);
    case "Compact":
      await done(kv.compact(BigInt(action.revision), { physical: true, ...limit }), "compacted");
      return observer.rememberCompaction(action.revision);
    case "Defragment":
      await maintenance.defragment(endpointOf(executor, view, action.member));
      return observer.rememberDefragmentation(action.member, action.operation);
    case "Disarm":
      await maintenance.disarm(parseId(action.memberID), action.alarm, limit);
      if (action.alarm === "NOSPACE") observer.rememberDisarming(action.memberID);
      return;
    case "CompareHashes":
      return observer.rememberHashes(await compareHashes(executor, view));
    case "EnableDowngrade": {
      const enable = maintenance.downgrade("ENABLE", action.version, limit);
      return await done(enable, "downgrade-in-progress");
    }
    case "CancelDowngrade": {
      // Of a mixed cluster, those on the higher minor tell of the downgrade, and can be reported (H13).
      const reported = view.members.find(
        ({ answer, isVoter }) => isVoter && answer.reachable && answer.downgrade?.enabled,
      );
      const via = reported && { endpoint: executor.platform.endpoint(reported.record) };
      return await done(maintenance.downgrade("CANCEL", "", { ...limit, ...via }), "no-downgrade");
    }
    case "AdvanceLog":
      return await advanceLog(executor, action.entries);
    case "NudgeLog":
      // Also when it fails: the next one is due in a while, and whatever else is to be done comes first.
      observer.rememberNudge();
      return await advanceLog(executor, 1);
    case "ChangeAuth":
      return await observer.auth.change(action.change, view.observation.auth?.passwords ?? {});
    default: {
      const unknown: never = action;
      throw new TypeError(`no such action: ${JSON.stringify(unknown)}`);
    }
  }
}

/**
 * Asking for the alarms is an entry of the log each time, and changes nothing. As many as fit into one step;
 * the next observation tells how far the log has come.
 */
async function advanceLog({ observer, clock }: Executor, entries: number): Promise<void> {
  const end = clock.monotonic() + ADVANCE_MS;
  let left = entries;
  const ask = async () => {
    while (left-- > 0 && clock.monotonic() < end) {
      await observer.client.maintenance.alarms({ timeoutMs: CHANGE_TIMEOUT_MS });
    }
  };
  await Promise.all(Array.from({ length: ADVANCE_AT_ONCE }, ask));
}

/** Waits for a change; answers of these kinds say that it was made before. */
async function done(change: Promise<unknown>, ...already: EtcdErrorKind[]): Promise<void> {
  try {
    await change;
  } catch (error) {
    if (!isEtcdError(error, ...already)) throw error;
  }
}

/** Hashes all healthy voters at one revision that each of them has; members that do not answer are left out. */
async function compareHashes(executor: Executor, view: View): Promise<Omit<HashReport, "at">> {
  const voters = view.members.filter((member) => member.isVoter && member.answer.reachable);
  const revisions = voters.map(({ answer }) => (answer.reachable ? answer.revision : 0));
  const revision = Math.min(...revisions);
  const answers = await Promise.all(
    voters.map(async (member) => {
      try {
        const endpoint = endpointOf(executor, view, member.name);
        const { hash, compactRevision } = await executor.observer.client.maintenance.hashKv(
          endpoint,
          BigInt(revision),
          { timeoutMs: HASH_TIMEOUT_MS },
        );
        return [[member.name, { hash, compactRevision: Number(compactRevision) }] as const];
      } catch (error) {
        if (!isEtcdError(error)) throw error;
        return [];
      }
    }),
  );
  return { revision, byMember: Object.fromEntries(answers.flat()) };
}

function endpointOf({ platform }: Executor, view: View, name: string) {
  const member = view.members.find((candidate) => candidate.name === name);
  if (!member) throw new RangeError(`no member is named ${name}`);
  return platform.endpoint(member.record);
}
