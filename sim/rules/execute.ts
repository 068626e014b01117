/** One Action, one effect on the model; what was done before counts as done (H10). */
import type { Action } from "../../src/core/action.ts";
import type { HashReport } from "../../src/core/observation.ts";
import type { View } from "../../src/core/view.ts";
import type { Calls } from "../models/etcd/calls.ts";
import type { Keys } from "../models/etcd/kv.ts";
import { Refusal, type RefusalKind } from "../models/etcd/refusal.ts";
import type { Server } from "../models/etcd/server.ts";
import type { EtcdWorld } from "../models/etcd/world.ts";
import type { Objects } from "./objects.ts";
import type { Memory } from "./observe.ts";
import type { Pods } from "./pods.ts";

export interface Hands {
  readonly objects: Objects;
  readonly pods: Pods;
  readonly world: EtcdWorld;
  readonly calls: Calls;
  readonly keys: Keys;
  readonly memory: Memory;
}

export function execute(hands: Hands, view: View, action: Action): void {
  const { objects, pods, calls, keys, memory } = hands;
  switch (action.kind) {
    case "CreateMember":
      return objects.create(action.record);
    case "UpdateMember":
      return objects.update(action.member, action.resourceVersion, action.change);
    case "DeleteMember":
      pods.stop(action.member);
      return objects.delete(action.member);
    case "MarkCluster":
      return objects.mark(action.change);
    case "StopWorkload":
      return pods.stop(action.member);
    case "DeleteVolume":
      return objects.deleteVolume(action.member, action.volumeUID);
    case "CreateOperation":
    case "RescueData":
      throw new Error("the directly simulated platform has no directories to look into");
    case "BindVolume":
      throw new Error("the directly simulated platform adopts nothing");
    case "FetchSnapshot":
      throw new Error("the directly simulated platform restores nothing in place");
    case "FinishDeletion":
      objects.cluster = {
        ...objects.cluster,
        deleting: false,
        spec: { ...objects.cluster.spec, paused: true },
      };
      return;
    case "AddLearner":
      return done(
        () => void calls.memberAdd(voter(hands, view), [action.peerURL], true),
        "memberExists",
        "peerURLExists",
      );
    case "UpdatePeerURL":
      return calls.memberUpdate(voter(hands, view), action.memberID, [action.peerURL]);
    case "Promote":
      return done(() => calls.memberPromote(leader(hands, view), action.memberID), "notLearner");
    case "RemoveFromEtcd":
      return done(() => calls.memberRemove(voter(hands, view), action.memberID), "memberNotFound");
    case "MoveLeader":
      return calls.moveLeader(leader(hands, view), action.memberID);
    case "Compact":
      done(() => keys.compact(voter(hands, view), action.revision), "compacted");
      memory.compacted = { revision: action.revision, at: view.now };
      return;
    case "Defragment": {
      const server = reached(hands, action.member);
      if (!server?.serving) throw new Refusal("noLeader");
      calls.defragment(server);
      memory.defragmentedAt.set(action.member, view.now);
      if (action.operation !== undefined) memory.defragmentedFor.set(action.member, action.operation);
      return;
    }
    case "Disarm":
      calls.setAlarm(voter(hands, view), action.memberID, action.alarm, false);
      if (action.alarm === "NOSPACE") memory.disarmedAt.set(action.memberID, view.now);
      return;
    case "CompareHashes":
      memory.hashes = hashes(hands, view);
      return;
    case "EnableDowngrade":
      return done(
        () => void calls.downgrade(voter(hands, view), "ENABLE", action.version),
        "downgradeRunning",
      );
    case "AdvanceLog":
      return calls.advanceLog(voter(hands, view), action.entries);
    case "NudgeLog":
      calls.advanceLog(voter(hands, view), 1);
      memory.nudgedAt = view.now;
      return;
    case "CancelDowngrade":
      return done(() => void calls.downgrade(voter(hands, view), "CANCEL", ""), "noDowngrade");
    case "RotateAuthority":
      return objects.rotate(action, view.now);
    case "ReissueCertificates":
      memory.reissuedFor.set(action.member ?? "", action.operation);
      return;
    case "UpdateOperation":
      return objects.report(action.operation, action.resourceVersion, action.status);
    case "DeleteOperation":
      return objects.forgetOperation(action.operation, action.uid);
    case "ChangeAuth":
    case "UpdateAuthObject":
      throw new TypeError("the rules are run without users here; the machine and the operator have them");
    default: {
      const unknown: never = action;
      throw new TypeError(`no such action: ${JSON.stringify(unknown)}`);
    }
  }
}

function done(call: () => void, ...already: RefusalKind[]): void {
  try {
    call();
  } catch (error) {
    if (!(error instanceof Refusal) || !already.includes(error.kind)) throw error;
  }
}

function reached({ objects, pods }: Hands, member: string): Server | undefined {
  return objects.reaches(member) ? pods.server(member) : undefined;
}

function serving(hands: Hands, view: View): Server[] {
  return view.members.flatMap((member) => {
    const server = reached(hands, member.name);
    return server?.serving && server.runs && !server.frozen && !server.isLearner ? [server] : [];
  });
}

/** A voter that has quorum, as the client would find one by trying. */
function voter(hands: Hands, view: View): Server {
  const servers = serving(hands, view);
  const server =
    servers.find((candidate) => hands.world.raftOf(candidate).leaderOf(candidate) !== "0") ?? servers[0];
  if (!server) throw new Refusal("timedOut");
  return server;
}

function leader(hands: Hands, view: View): Server {
  const found = serving(hands, view).find((server) => hands.world.raftOf(server).leader === server);
  if (!found) throw new Refusal("noLeader");
  return found;
}

function hashes(hands: Hands, view: View): HashReport {
  const servers = view.members
    .filter((member) => member.isVoter)
    .flatMap((member) => {
      const server = reached(hands, member.name);
      return server?.serving && server.runs && !server.frozen ? [[member.name, server] as const] : [];
    });
  const revision = Math.min(...servers.map(([, server]) => server.dir.state.revision));
  const byMember: Record<string, { hash: number; compactRevision: number }> = {};
  for (const [name, server] of servers) {
    try {
      const { hash, compactRevision } = hands.calls.hashKV(server, revision);
      byMember[name] = { hash, compactRevision };
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
    }
  }
  return { at: view.now, revision, byMember };
}
