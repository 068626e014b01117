/** Observations for tests, in a few words: a healthy cluster of a size and version, then what is wrong with it. */
import {
  etcdClusterSpecSchema,
  type EtcdClusterSpec,
  type EtcdClusterSpecInput,
} from "../../api/etcd-cluster-spec.ts";
import { decide } from "../decide.ts";
import type { MemberFacts, Observation } from "../observation.ts";
import { predict } from "../plan/predict.ts";
import { FIRST_MARKS, type MemberAddress } from "../record.ts";
import { settle } from "../plan/settle.ts";
import { startHash } from "../template/template.ts";

export const NOW = 1_750_000_000_000;

export function specOf(input: Partial<EtcdClusterSpecInput> = {}): EtcdClusterSpec {
  return etcdClusterSpecSchema.parse({ version: "3.6.16", ...input });
}

function address(ordinal: number): MemberAddress {
  const peerURL = `https://demo-${ordinal}.demo:2380`;
  const clientURL = `https://demo-${ordinal}.demo:2379`;
  const metricsURL = `http://demo-${ordinal}.demo:2381`;
  return {
    peerURL,
    clientURL,
    metricsURL,
    listenPeerURL: "https://0.0.0.0:2380",
    listenClientURL: "https://0.0.0.0:2379",
    listenMetricsURL: "http://0.0.0.0:2381",
  };
}

/** A cluster that was only asked for. */
export function asked(input: Partial<EtcdClusterSpecInput> = {}): Observation {
  return {
    now: NOW,
    cluster: {
      name: "demo",
      namespace: "default",
      uid: "11111111-2222",
      generation: 1,
      deleting: false,
      spec: specOf(input),
      marks: FIRST_MARKS,
    },
    members: [],
    operations: [],
    etcd: { alarms: [], defragmentedAt: {}, hashes: { at: NOW, revision: 0, byMember: {} } },
    platform: {
      fenced: false,
      offers: Array.from({ length: 40 }, (_, i) => ({ ordinal: i + 1, address: address(i + 1) })),
      highestLeftover: 0,
      unavailableVersions: {},
      clashes: [],
    },
  };
}

/** Follows decide until it converges, in a world where nothing fails. */
export function run(observation: Observation, limit = 300): Observation {
  let world = settle(observation);
  for (let i = 0; i < limit; i++) {
    const decision = decide(world);
    if (decision.act) world = predict(world, decision.act.action);
    else if (decision.converged) return world;
    else world = settle({ ...world, now: decision.lookAgainAt ?? world.now + 1000 });
  }
  throw new Error(`not converged after ${limit} passes: ${JSON.stringify(decide(world))}`);
}

/** A cluster that was created and has settled. */
export function healthy(input: Partial<EtcdClusterSpecInput> = {}): Observation {
  return run(asked(input));
}

export function edit(observation: Observation, input: Partial<EtcdClusterSpecInput>): Observation {
  const { cluster } = observation;
  const spec = etcdClusterSpecSchema.parse({ ...cluster.spec, ...input });
  return { ...observation, cluster: { ...cluster, generation: cluster.generation + 1, spec } };
}

export function change(
  observation: Observation,
  name: string,
  how: Partial<MemberFacts> | ((facts: MemberFacts) => Partial<MemberFacts>),
): Observation {
  return {
    ...observation,
    members: observation.members.map((facts) =>
      facts.record.name === name ? { ...facts, ...(typeof how === "function" ? how(facts) : how) } : facts,
    ),
  };
}

/** The member's process ended and does not answer. */
/** The same record with some of it different. */
export function record(
  observation: Observation,
  name: string,
  more: Partial<MemberFacts["record"]>,
): Observation {
  return change(observation, name, (facts) => ({ record: { ...facts.record, ...more } }));
}

/** Where it answers, some of its answer different. */
export function answering(
  observation: Observation,
  name: string,
  more: Partial<Extract<MemberFacts["answer"], { reachable: true }>>,
): Observation {
  return change(observation, name, ({ answer }) => ({
    answer: answer.reachable ? { ...answer, ...more } : answer,
  }));
}

/** It runs since then without etcd's check of its data. */
export function unchecked(observation: Observation, name: string, since: number): Observation {
  return change(observation, name, (facts) => {
    const { template } = facts.record;
    const corruptCheck = { ...template.options.corruptCheck, initial: false };
    const changed = {
      ...facts.record,
      template: { ...template, options: { ...template.options, corruptCheck } },
    };
    return {
      record: changed,
      workload: { state: "running", since, restarts: 0, startedFrom: startHash(changed) },
    };
  });
}

export function exited(
  observation: Observation,
  name: string,
  cause:
    | "killed"
    | "data-missing"
    | "data-corrupt"
    | "data-differs"
    | "already-bootstrapped"
    | "bad-configuration"
    | "removed"
    | "unknown" = "killed",
  options: { restarts?: number; since?: number } = {},
): Observation {
  const since = options.since ?? observation.now;
  return change(observation, name, (facts) => ({
    workload: {
      state: "exited",
      since,
      restarts: options.restarts ?? 1,
      cause,
      detail: cause,
      startedFrom: "startedFrom" in facts.workload ? (facts.workload.startedFrom ?? "") : "",
    },
    answer: { reachable: false, error: "connection refused" },
    unhealthySince: since,
  }));
}

export function leaderOf(observation: Observation): string {
  const leader = observation.members.find(
    ({ answer }) => answer.reachable && answer.leaderID === answer.memberID,
  );
  return leader?.record.name ?? "";
}
