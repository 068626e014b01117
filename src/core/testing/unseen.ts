/** Members that run and serve, and do not answer the operator: for tests of what is done about them. */
import assert from "node:assert/strict";
import type { MemberFacts, Observation } from "../observation.ts";
import type { Rule } from "../rule.ts";
import { startHash } from "../template/template.ts";
import { viewOf } from "../view.ts";
import { NOW, change, healthy } from "./cluster.ts";

export const LONG_AGO = NOW - 3_600_000;

export const EDITED = { options: { logLevel: "Debug" } } as const;

export const SILENT = { reachable: false, error: "connection timed out", cause: "network" } as const;

/** It runs, does not answer us, and is ready or not by its own word. */
export function unseen(
  o: Observation,
  name: string,
  ready: boolean | undefined,
  more: Partial<MemberFacts> = {},
) {
  return change(o, name, ({ workload }) => ({
    workload:
      workload.state === "running" ? { ...workload, ...(ready !== undefined && { ready }) } : workload,
    answer: SILENT,
    unhealthySince: LONG_AGO,
    ...more,
  }));
}

export function withoutList(o: Observation): Observation {
  const { list: _list, clusterVersion: _version, ...etcd } = o.etcd;
  return { ...o, etcd };
}

export function unreachableEtcd(
  o = healthy(),
  ready: boolean | undefined = true,
  more: Partial<MemberFacts> = {},
): Observation {
  let world = o;
  for (const { record } of o.members) world = unseen(world, record.name, ready, more);
  return withoutList(world);
}

export const approved = (o: Observation, what: string): Observation => ({
  ...o,
  cluster: { ...o.cluster, approved: what },
});

/** The step that the rule takes, done, and nothing else. */
export function done(rule: Rule, o: Observation): Observation {
  const [outcome] = rule(viewOf(o));
  assert.ok(outcome && "act" in outcome && outcome.act.action.kind === "UpdateMember");
  const { member, change: changed } = outcome.act.action;
  return change(o, member, ({ record }) => ({ record: { ...record, ...changed } }));
}

export const restarted = (o: Observation, name: string) =>
  change(o, name, ({ record }) => ({
    workload: { state: "running", since: NOW, restarts: 0, startedFrom: startHash(record), ready: false },
  }));
