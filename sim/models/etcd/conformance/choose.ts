/** Random calls, good and bad, to random members: most of them reads and writes, some of them about membership. */
import type { SeededRandom } from "../../../engine/random.ts";
import { authCall } from "./auth-calls.ts";
import type { Call, TxnOp } from "./calls.ts";
import { leaderOf, membersOf, serving, slotOf, type Ground } from "./ground.ts";
import type { Slot } from "./side.ts";

export interface PlannedCall {
  readonly slot: Slot;
  readonly call: Call;
}

const KEYS = ["a", "b", "c", "ca", "d"];
const STRANGER = "1234abcd";

function revisionNear(random: SeededRandom, ground: Ground, slot: Slot): number {
  const state = ground.model.server(slot)?.dir.state;
  const [now, compacted] = [state?.revision ?? 1, Math.max(0, state?.compactRevision ?? 0)];
  return random.pick([0, now, now, now + 1, now + 50, compacted, compacted - 1, 1]);
}

function range(random: SeededRandom, ground: Ground, slot: Slot): Call {
  const revision = random.chance(0.3) ? revisionNear(random, ground, slot) : 0;
  const state = ground.model.server(slot)?.dir.state;
  // The model keeps no history: what an older revision held is not compared, only whether it is still there.
  const isPast =
    revision > 0 && revision < (state?.revision ?? 0) && revision >= (state?.compactRevision ?? 0);
  return {
    kind: "range",
    key: random.pick([...KEYS, "\0"]),
    end: random.pick(["", "", "c", "z", "\0"]),
    revision: isPast || revision < 0 ? 0 : revision,
    limit: random.pick([0, 0, 1, 2]),
    serializable: random.chance(0.5),
    only: random.pick(["all", "all", "keys", "count"]),
  };
}

function txn(random: SeededRandom): Call {
  // A key may be changed once only in a transaction.
  const some = (): TxnOp[] => {
    const [first, second] = random.chance(0.5) ? ["a", "b"] : ["c", "d"];
    return [first, second].slice(0, random.between(1, 2)).map((key) => ({
      kind: random.chance(0.6) ? "put" : "delete",
      key: key ?? "a",
    }));
  };
  const then = some();
  return { kind: "txn", key: random.pick(KEYS), version: random.between(0, 3), then, otherwise: some() };
}

function keyCall(random: SeededRandom, ground: Ground, slot: Slot): Call {
  const what = random.between(1, 100);
  if (what <= 34)
    return {
      kind: "put",
      key: random.pick([...KEYS, random.chance(0.1) ? "" : "a"]),
      value: `v${random.between(1, 99)}`,
      previous: random.chance(0.3),
    };
  if (what <= 68) return range(random, ground, slot);
  if (what <= 78) return { kind: "delete", key: random.pick(KEYS), end: random.pick(["", "", "c", "\0"]) };
  if (what <= 88) return txn(random);
  const revision = revisionNear(random, ground, slot);
  if (what <= 93) return { kind: "compact", revision: Math.max(0, revision) };
  // Hashes of the past are of what the model keeps.
  if (what <= 97) return { kind: "hash", revision: Math.max(0, revision) };
  if (what <= 98) return watchFrom(ground, slot, Math.max(0, revision));
  return { kind: "defragment" };
}

/** From a revision that is compacted, or from one to come: what lies between depends on the history. */
export function watchFrom(ground: Ground, slot: Slot, revision: number): Call {
  const { revision: now = 1, compactRevision = 0 } = ground.model.server(slot)?.dir.state ?? {};
  const isGone = revision > 0 && revision < compactRevision;
  return { kind: "watch", revision: isGone ? revision : Math.max(revision, now + 1), waits: isGone };
}

function anyId(random: SeededRandom, ground: Ground): string {
  const ids = membersOf(ground).map(({ id }) => id);
  const leader = leaderOf(ground);
  const removed = leader && ground.model.server(leader)?.dir.state.removed;
  return random.chance(0.15) || ids.length === 0
    ? random.pick([STRANGER, ...(removed ?? [])])
    : random.pick(ids);
}

function alarm(random: SeededRandom, ground: Ground): Call {
  const leader = leaderOf(ground);
  const raised = [...((leader && ground.model.server(leader)?.dir.state.alarms) ?? [])];
  // Of two kinds at once the one that came last counts, which the model does not follow.
  const other = raised[0]?.split(" ")[1];
  const kind = (other ?? random.pick(["NOSPACE", "CORRUPT"])) === "CORRUPT" ? "CORRUPT" : "NOSPACE";
  // Alarms are raised seldom and disarmed soon, or nothing could be written most of the time.
  const what = random.fraction();
  const one = raised.length > 0 && random.chance(0.8) ? random.pick(raised) : undefined;
  if (one !== undefined) {
    const [id = "0", name] = one.split(" ");
    return { kind: "alarm", action: "DEACTIVATE", id, alarm: name === "CORRUPT" ? "CORRUPT" : "NOSPACE" };
  }
  const action = what < 0.6 ? "GET" : what < 0.85 ? "ACTIVATE" : "DEACTIVATE";
  return { kind: "alarm", action, id: action === "GET" ? "0" : anyId(random, ground), alarm: kind };
}

function downgrade(random: SeededRandom, ground: Ground): Call {
  const minor = Number(ground.version.split(".")[1]);
  const version = random.pick([`3.${minor - 1}`, `3.${minor - 2}`, `3.${minor}`, `3.${minor + 1}`, "x"]);
  // Enabling takes both sides some seconds. Nobody goes from 3.5 to 3.4 any more.
  if (minor > 5 && random.chance(0.08))
    return { kind: "downgrade", action: "ENABLE", version: `3.${minor - 1}` };
  const action = random.pick(["VALIDATE", "VALIDATE", "CANCEL"] as const);
  return { kind: "downgrade", action, version };
}

/**
 * R18 is about shares of the log, and the two sides' logs are not of one length (elections, what etcd tells itself): of
 * a learner that went down near the limit of nine tenths nobody can say what the other side answers; nor of any voter
 * that went down, which a leader that took over from it may have heard once more or not.
 */
function isNearlyReady(ground: Ground, id: string): boolean {
  const isVoter = membersOf(ground).some((member) => member.id === id && !member.isLearner);
  if (isVoter && !ground.model.world.network.all().some((one) => one.runs && one.id === id)) return true;
  const leader = leaderOf(ground);
  const server = leader && ground.model.server(leader);
  const progress = server && ground.model.world.raftOf(server).progress(id);
  return progress !== undefined && progress > 0.7 && progress < 0.99;
}

/** One that changes the membership, or tries to. */
function memberCall(random: SeededRandom, ground: Ground): Call {
  const what = random.between(1, 100);
  const members = membersOf(ground);
  const free = ground.slots.filter(
    ({ peerUrl }) => !members.some(({ peerURLs }) => peerURLs.includes(peerUrl)),
  );
  if (what <= 30) {
    const url =
      random.chance(0.8) && free.length > 0 ? random.pick(free).peerUrl : random.pick(ground.slots).peerUrl;
    const urls = random.chance(0.05) ? ["not a URL"] : [url];
    return { kind: "add", urls, learner: random.chance(0.75) };
  }
  if (what <= 52) return { kind: "remove", id: anyId(random, ground) };
  if (what <= 75) {
    const learner = members.find(({ isLearner }) => isLearner);
    const id = learner && random.chance(0.7) ? learner.id : anyId(random, ground);
    return { kind: "promote", id: isNearlyReady(ground, id) ? STRANGER : id };
  }
  if (what <= 85) {
    // One that is down is waited for until the caller gives up: no answer to compare.
    const down = members.filter((member) => {
      const slot = slotOf(ground, member);
      return !member.isLearner && !(slot && ground.model.server(slot));
    });
    const id = anyId(random, ground);
    return { kind: "moveLeader", id: down.some((member) => member.id === id) ? STRANGER : id };
  }
  const id = anyId(random, ground);
  const own = members.find((member) => member.id === id)?.peerURLs;
  // Another's, which is refused. To a URL of nobody a member could go, and would be reached for as long as connections
  // last that were made before.
  const others = members.flatMap((member) => (member.id === id ? [] : member.peerURLs));
  const another = others.length > 0 ? random.pick(others) : own?.[0];
  // Of a clash that it refused 3.7 thinks otherwise when it starts again: it replays it unchecked, if what came after it
  // had reached the disk, which is a matter of a tenth of a second. The product never asks for one.
  const clashes = random.chance(0.3) && ground.version < "3.7";
  return { kind: "update", id, urls: own && !clashes ? own : [another ?? "http://127.0.0.1:1"] };
}

export const isTimed = ({ kind }: Call) => kind === "add" || kind === "remove";

/** Calls that change who leads or who belongs: the sides settle after them. */
export const stirs = ({ kind }: Call) =>
  kind === "add" || kind === "remove" || kind === "promote" || kind === "moveLeader";

export function nextCall(random: SeededRandom, ground: Ground): PlannedCall | undefined {
  const able = serving(ground);
  if (able.length === 0) return undefined;
  const slot = random.pick(able);
  const what = random.between(1, 1000);
  if (what <= 40 && membersOf(ground).length > 0) return { slot, call: memberCall(random, ground) };
  if (what <= 160) return { slot, call: { kind: "list", linearizable: random.chance(0.5) } };
  if (what <= 260) return { slot, call: { kind: "status" } };
  if (what <= 300) return { slot, call: alarm(random, ground) };
  if (what <= 320 && leaderOf(ground)) return { slot, call: downgrade(random, ground) };
  if (what <= 440 && leaderOf(ground)) {
    const auth = ground.model.server(slot)?.dir.state.auth;
    return { slot, call: { kind: "auth", op: authCall(random, auth) } };
  }
  return { slot, call: keyCall(random, ground, slot) };
}
