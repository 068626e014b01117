/**
 * How a run ended, in what must be the same with and without faults: sizes, versions, nothing left over,
 * nothing missing. Names and IDs may differ, since a replaced member never comes back under its old ones.
 */
import { quorum } from "../../src/core/quorum.ts";
import { templateHash } from "../../src/core/template/template.ts";
import type { EtcdWorld } from "../models/etcd/world.ts";
import type { Simulation } from "../rules/simulation.ts";

export interface EndState {
  readonly voters: number;
  readonly learners: number;
  readonly records: number;
  readonly pods: number;
  readonly volumes: number;
  readonly templates: readonly string[];
  readonly clusterVersion: string | undefined;
  readonly downgrading: boolean;
  readonly alarms: number;
  /** What a person is reported, by reason. */
  readonly reported: readonly string[];
}

export function endState(sim: Simulation): EndState {
  const { objects, pods, world } = sim;
  const records = [...objects.records.values()];
  const leader = world.network.all().find((server) => server.runs && world.raftOf(server).leader === server);
  const state = leader?.dir.state;
  return {
    voters: state?.voters().length ?? 0,
    learners: state?.learners() ?? 0,
    records: records.length,
    pods: pods.names().length,
    volumes: records.filter((record) => objects.volumes.has(record.name)).length,
    templates: [
      ...new Set(records.map((record) => `${record.template.version} ${templateHash(record.template)}`)),
    ],
    clusterVersion: state?.clusterVersion,
    downgrading: state?.downgrade !== undefined,
    alarms: state?.alarms.size ?? 0,
    reported: (sim.decision?.holds ?? [])
      .filter((hold) => hold.next !== undefined)
      .map((hold) => hold.reason),
  };
}

/** What is wrong with a cluster that says it is converged. */
export function faultsOf(sim: Simulation): string[] {
  if (!sim.converged) return [];
  const { spec } = sim;
  const end = endState(sim);
  const wrong: string[] = [];
  const expect = (what: string, found: unknown, wanted: unknown) => {
    if (found !== wanted) wrong.push(`${what} is ${String(found)}, not ${String(wanted)}`);
  };
  if (spec.replicas === 0) return [];
  expect("voters", end.voters, spec.replicas);
  expect("learners", end.learners, spec.learners);
  expect("records", end.records, spec.replicas + spec.learners);
  expect("pods", end.pods, end.records);
  expect("volumes", end.volumes, end.records);
  expect("templates", end.templates.length, 1);
  expect("version", end.templates[0]?.split(" ")[0], spec.version);
  expect("alarms", end.alarms, 0);
  wrong.push(...uncured(sim), ...ledByFenced(sim), ...dialledOtherwise(sim.world));
  return wrong;
}

/** R9, R52: at rest everybody listens as the others dial it. */
export function dialledOtherwise({ network }: EtcdWorld): string[] {
  return network.all().flatMap(({ runs, id, config, dir }) => {
    const listed = dir.state.members.get(id)?.peerURLs ?? [];
    const isSame = listed.every((url) => config.peerURLs.includes(url));
    return runs && !isSame
      ? [`${config.name} is listed as ${listed.join()}, not as ${config.peerURLs.join()}`]
      : [];
  });
}

/** A fenced member leads only where every voter is fenced. */
function ledByFenced({ world, objects }: Simulation): string[] {
  const voters = world.network.all().filter((server) => server.runs && !server.isLearner);
  const isFenced = ({ config }: (typeof voters)[number]) => objects.fenced.has(config.name);
  const leader = voters.find((server) => world.raftOf(server).leader === server);
  if (!leader || !isFenced(leader) || voters.every(isFenced)) return [];
  return [`${leader.config.name} leads and is fenced`];
}

/** Voters whose data differs, while enough others agree to tell who is right. Learners refuse to be hashed (H8). */
function uncured(sim: Simulation): string[] {
  const voters = sim.world.network.all().filter((server) => server.runs && !server.isLearner);
  const corrupt = voters.filter((server) => server.dir.corruption !== 0);
  if (voters.length - corrupt.length < quorum(voters.length)) return [];
  return corrupt.map((server) => `${server.config.name} is still corrupt`);
}
