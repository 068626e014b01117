/** What can be done to a simulated cluster from outside, by name: the faults of scenarios and of random runs. */
import { removeByHand } from "./by-hand.ts";
import type { Simulation } from "./simulation.ts";

export const faultNames = [
  "kill",
  "stop",
  "wipe",
  "lose-volume",
  "swap-volume",
  "break-file",
  "corrupt",
  "freeze",
  "thaw",
  "slow",
  "fast",
  "cut",
  "heal",
  "disk-full",
  "disk-freed",
  "forget-record",
  "move-leader",
  "fence",
  "unfence",
  "crash-operator",
  "foreign-member",
  "remove-member",
  "blind",
  "blind-to-all",
  "sighted",
  "refuse",
  "allow",
] as const;

export type FaultName = (typeof faultNames)[number];

/** Carries a fault out; `member` is a name, and ignored where the fault concerns nobody in particular. */
export function inflict(sim: Simulation, fault: FaultName, member = ""): void {
  const { pods, objects, world } = sim;
  const server = pods.server(member);
  const volume = objects.volumes.get(member);
  switch (fault) {
    case "kill":
      pods.kill(member);
      break;
    case "stop":
      pods.stop(member);
      break;
    case "wipe":
      pods.kill(member);
      if (volume) objects.wipe(volume.path);
      break;
    case "lose-volume":
      pods.kill(member);
      objects.loseVolume(member);
      break;
    case "swap-volume":
      pods.kill(member);
      objects.loseVolume(member);
      objects.replaceVolume(member);
      break;
    case "break-file": {
      const dir = volume && objects.read(volume.path);
      if (dir) dir.unreadable = true;
      pods.kill(member);
      break;
    }
    case "corrupt": {
      const dir = volume && objects.read(volume.path);
      if (dir) dir.corruption = 1 + sim.random.between(1, 1_000_000);
      break;
    }
    case "freeze":
      if (server) world.freeze(server);
      break;
    case "thaw":
      for (const frozen of world.network.all()) if (frozen.frozen) world.thaw(frozen);
      break;
    case "slow":
      pods.slow.add(member);
      if (server) server.speed = 0.1;
      break;
    case "fast":
      pods.slow.clear();
      for (const one of world.network.all()) one.speed = 1;
      world.reconsiderAll();
      break;
    case "cut":
      for (const other of objects.records.keys()) if (other !== member) world.network.cut(member, other);
      world.reconsiderAll();
      break;
    case "heal":
      world.network.heal();
      world.reconsiderAll();
      break;
    case "disk-full":
      if (volume) objects.full.add(volume.path);
      pods.kill(member);
      break;
    case "disk-freed":
      objects.full.clear();
      break;
    case "forget-record":
      objects.delete(member);
      break;
    case "move-leader":
      if (server?.runs) {
        const raft = world.raftOf(server);
        if (raft.leader && raft.leader !== server) raft.transfer(server);
      }
      break;
    case "fence":
      if (objects.records.has(member)) objects.fenced.add(member);
      break;
    case "unfence":
      objects.fenced.delete(member);
      break;
    case "crash-operator":
      sim.operator.crash("killed from outside");
      break;
    case "remove-member":
      removeByHand(world, sim.calls, member);
      break;
    case "blind":
      objects.blind = objects.blind === "all" ? "all" : new Set([...objects.blind, member]);
      break;
    case "blind-to-all":
      objects.blind = "all";
      break;
    case "sighted":
      objects.blind = new Set();
      break;
    case "refuse":
      objects.refusing = true;
      break;
    case "allow":
      objects.refusing = false;
      break;
    case "foreign-member": {
      const voter = world.network.all().find((one) => one.serving && one.runs && !one.isLearner);
      if (voter) sim.calls.memberAdd(voter, ["https://elsewhere:2380"], true);
      break;
    }
  }
  sim.operator.wake();
}

/** Ends all faults that last. */
export function makeWhole(sim: Simulation): void {
  for (const fault of ["thaw", "fast", "heal", "disk-freed", "sighted", "allow"] as const)
    inflict(sim, fault);
  sim.objects.backups.mend();
}
