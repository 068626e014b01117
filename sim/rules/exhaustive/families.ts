/**
 * What is searched: a cluster that is asked for, the specs among which a person edits it, and how many edits and
 * faults may come, in any order and at any moment. Larger members × faults grow the search tenfold each.
 */
import type { EtcdClusterSpecInput } from "../../../src/api/etcd-cluster-spec.ts";
import type { Task } from "./state.ts";

export interface Family {
  readonly name: string;
  /** The first is asked for; edits go to any of them. */
  readonly specs: readonly Partial<EtcdClusterSpecInput>[];
  readonly edits: number;
  readonly faults: number;
  /** Begins when the first spec has been reached; else with nothing. */
  readonly settled?: boolean;
  /** A fault may also be that the operator alone cannot reach etcd, or be only that. */
  readonly blind?: "too" | "only";
  /** People may also delete the cluster, or a record by hand. */
  readonly deletes?: boolean;
  /** An edit may also be an EtcdOperation with one of these tasks, once, and its deletion. */
  readonly tasks?: readonly Task[];
  /** Then also a second one, which waits for the first or comes after it. */
  readonly twoTasks?: true;
}

const of = (replicas: number, version = "3.6.16") => ({ replicas, version });
const debug = { options: { logLevel: "Debug" } } as const;

/** Seconds; part of the tests. */
export const QUICK: readonly Family[] = [
  { name: "first boot of 1", specs: [of(1)], edits: 0, faults: 2 },
  { name: "1 ↔ 2", settled: true, specs: [of(1), of(2)], edits: 1, faults: 1 },
  { name: "3, whatever fails", settled: true, specs: [of(3)], edits: 0, faults: 1 },
  {
    name: "3, edited, unseen",
    settled: true,
    specs: [of(3), { ...of(3), ...debug }],
    edits: 1,
    faults: 1,
    blind: "only",
  },
  { name: "2, restarted", settled: true, specs: [of(2)], edits: 2, faults: 1, tasks: [{ kind: "restart" }] },
  {
    name: "1, two operations",
    settled: true,
    specs: [of(1)],
    edits: 2,
    faults: 0,
    tasks: [{ kind: "restart" }, { kind: "replaceMember", target: 1 }],
    twoTasks: true,
  },
];

const TASKS: readonly Task[] = [
  { kind: "restart" },
  { kind: "restart", target: 2 },
  { kind: "replaceMember", target: 1 },
  { kind: "moveLeader" },
  { kind: "moveLeader", target: 2 },
];

export const UP_TO_3: readonly Family[] = [
  ...QUICK,
  { name: "first boot of 2", specs: [of(2)], edits: 0, faults: 2 },
  { name: "first boot of 3", specs: [of(3)], edits: 0, faults: 1 },
  { name: "first boot, edited", specs: [of(1), of(2), of(2, "3.7.3")], edits: 1, faults: 1 },
  { name: "3, twice", settled: true, specs: [of(3)], edits: 0, faults: 2 },
  {
    name: "3, edited, perhaps unseen",
    settled: true,
    specs: [of(3), { ...of(3), ...debug }],
    edits: 1,
    faults: 1,
    blind: "too",
  },
  { name: "3 → 1, twice unseen", settled: true, specs: [of(3), of(1)], edits: 1, faults: 2, blind: "only" },
  { name: "first boot of 3, unseen", specs: [of(3)], edits: 0, faults: 2, blind: "only" },
  { name: "1 → 2, 3", settled: true, specs: [of(1), of(3), of(2)], edits: 1, faults: 1 },
  { name: "1 ↔ 2 ↔ 3", settled: true, specs: [of(1), of(3), of(2)], edits: 3, faults: 0 },
  { name: "3 → 1, 2", settled: true, specs: [of(3), of(1), of(2)], edits: 1, faults: 1 },
  { name: "3.5: 1 ↔ 3", settled: true, specs: [of(1, "3.5.35"), of(3, "3.5.35")], edits: 2, faults: 1 },
  { name: "3.6 → 3.7", settled: true, specs: [of(2), of(2, "3.7.3")], edits: 1, faults: 1 },
  { name: "3.6 ↔ 3.7", settled: true, specs: [of(3), of(3, "3.7.3")], edits: 2, faults: 0 },
  { name: "3.5 → 3.6, scaled", settled: true, specs: [of(2, "3.5.35"), of(2), of(3)], edits: 2, faults: 0 },
  { name: "3.5 → 3.6", settled: true, specs: [of(2, "3.5.35"), of(2)], edits: 1, faults: 1 },
  { name: "asleep and awake", settled: true, specs: [of(2), of(0)], edits: 2, faults: 1 },
  { name: "deleted", settled: true, specs: [of(3)], edits: 1, faults: 1, deletes: true },
  { name: "2, operations", settled: true, specs: [of(2)], edits: 2, faults: 1, tasks: TASKS },
  {
    name: "2, two operations",
    settled: true,
    specs: [of(2)],
    edits: 2,
    faults: 1,
    tasks: TASKS,
    twoTasks: true,
  },
  {
    name: "3, two operations",
    settled: true,
    specs: [of(3)],
    edits: 3,
    faults: 0,
    tasks: TASKS,
    twoTasks: true,
  },
  { name: "3, an operation", settled: true, specs: [of(3)], edits: 1, faults: 1, tasks: TASKS },
  { name: "3 ↔ 1, an operation", settled: true, specs: [of(3), of(1)], edits: 2, faults: 0, tasks: TASKS },
  {
    name: "1, operations, deleted",
    settled: true,
    specs: [of(1)],
    edits: 2,
    faults: 1,
    deletes: true,
    tasks: TASKS,
  },
  {
    name: "another class",
    settled: true,
    specs: [of(2), { ...of(2), storage: { className: "fast" } }],
    edits: 1,
    faults: 1,
  },
];

export const UP_TO_5: readonly Family[] = [
  { name: "3 ↔ 1, 2", settled: true, specs: [of(3), of(1), of(2)], edits: 2, faults: 1 },
  { name: "3: 3.6 → 3.7", settled: true, specs: [of(3), of(3, "3.7.3")], edits: 1, faults: 1 },
  { name: "3: 3.5 → 3.6", settled: true, specs: [of(3, "3.5.35"), of(3)], edits: 1, faults: 1 },
  { name: "3: asleep and awake", settled: true, specs: [of(3), of(0)], edits: 2, faults: 1 },
  { name: "3, operations", settled: true, specs: [of(3)], edits: 2, faults: 1, tasks: TASKS },
  {
    name: "3, two operations, a fault",
    settled: true,
    specs: [of(3)],
    edits: 2,
    faults: 1,
    tasks: TASKS,
    twoTasks: true,
  },
  { name: "3 ↔ 5", settled: true, specs: [of(3), of(5)], edits: 2, faults: 1 },
  { name: "5, twice", settled: true, specs: [of(5)], edits: 0, faults: 2 },
  { name: "5 → 1, 4", settled: true, specs: [of(5), of(1), of(4)], edits: 1, faults: 1 },
  { name: "5: 3.6 ↔ 3.7", settled: true, specs: [of(5), of(5, "3.7.3")], edits: 1, faults: 1 },
];
