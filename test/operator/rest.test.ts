/**
 * Clusters at rest: the operator writes nothing but its lease and changes nothing in any etcd, whether clients write or
 * not (I7); and a cluster that does not answer holds up none of the others. Ten for half a minute in `npm test`, some
 * of them written to; twenty for five minutes, without and with writing clients, in `npm run e2e -- --all`.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Service } from "kubernetes-types/core/v1.d.ts";
import type { Pass } from "../../src/control/loop.ts";
import type { EtcdClient } from "../../src/etcd/client.ts";
import { PORTS } from "../../src/operator/names.ts";
import { eventually } from "../../testbed/eventually.ts";
import { faults } from "../../testbed/faults.ts";
import type { TestTestbed } from "../../testbed/for-tests.ts";
import { PATHS } from "../support/kube-paths.ts";
import {
  ClusterOnBed,
  PATIENCE_MS,
  startOperator,
  upWithDefinitions,
  writes,
  type Running,
} from "../support/operator.ts";
import { EVERY_CASE } from "../support/sample.ts";

const WINDOW_MS = EVERY_CASE ? 300_000 : 30_000;
/** A window in which the machine was too busy for an etcd to answer in time says nothing about the operator. */
const MOST_WINDOWS = 5;
const SINGLES = Array.from({ length: EVERY_CASE ? 17 : 4 }, (_, index) => `single-${index + 1}`);
const TRIPLES = ["triple-1", "triple-2", "triple-3"];
const WRITTEN = ["single-1", "single-2", "triple-1"];
const WRITE_EVERY_MS = 50;
const FROZEN = "triple-3";
const EDITED = ["single-3", "single-4", "triple-2"];
/** Who waits for a cluster that does not answer waits longer, and every time; a busy machine is slow without it too. */
const INDEPENDENT_MS = 5_000;
/** Words that change without a condition may be reported one pass of rest later. */
const SETTLED_MS = 6_000;

/** Calls by which etcd's members, keys or settings are changed. */
const CHANGING = `MemberAdd MemberRemove MemberUpdate MemberPromote MoveLeader Downgrade
  Put DeleteRange Txn Compact Defragment Alarm`.split(/\s+/);
const STARTED = /^grpc_server_started_total\{grpc_method="(\w+)",.*\} (\d+)$/gm;

interface Turn {
  readonly key: string;
  readonly began: number;
  readonly ended: number;
}

let bed: TestTestbed;
let running: Running;
const passes: Pass[] = [];
const turns: Turn[] = [];
const clusters = new Map<string, ClusterOnBed>();

before(async () => {
  bed = await upWithDefinitions();
  running = startOperator(bed, {
    hooks: {
      onPass: (pass) => void passes.push(pass),
      timed: (reconcile) => async (key, signal) => {
        const began = performance.now();
        const outcome = await reconcile(key, signal);
        turns.push({ key, began, ended: performance.now() });
        return outcome;
      },
    },
  });
  await eventually("the operator leads", () => running.operator.leads);
  for (const name of [...SINGLES, ...TRIPLES]) clusters.set(name, new ClusterOnBed(bed, name, running));
  await Promise.all([...clusters].map(([name, cluster]) => cluster.create({ replicas: sizeOf(name) })));
  for (const [name, cluster] of clusters) await cluster.converged(sizeOf(name));
});

after(async () => {
  for (const cluster of clusters.values()) await cluster.close();
  await running?.stop();
  await bed?.down();
});

if (EVERY_CASE)
  test("I7: clusters at rest cause no write but the lease's, and no change in any etcd", async (t) => {
    await settled();
    const { seen, changes } = await restWindow([]);
    t.diagnostic(seen);
    assert.deepEqual(changes, []);
  });

test("I7: clusters at rest cause no write but the lease's, and no change in any etcd, some written to by clients", async (t) => {
  // Ten minutes after its last write, a status tells the numbers that have moved: that time begins anew.
  if (EVERY_CASE) await changesOf("written", WRITTEN);
  await settled();
  const writers = await Promise.all(WRITTEN.map((name) => Writer.start(clusterOf(name))));
  try {
    const { seen, changes } = await restWindow(WRITTEN);
    t.diagnostic(seen);
    assert.deepEqual(changes, []);
  } finally {
    const written = await Promise.all(writers.map((writer) => writer.stop()));
    t.diagnostic(`writes of the clients: ${written.join(", ")}`);
    for (const count of written) assert.ok(count > 0, "the clients did write");
  }
});

test("a cluster that does not answer delays no other", async (t) => {
  const free = await changesOf("free");
  const harm = faults(bed.name);
  const pods = await clusterOf(FROZEN).list(PATHS.pods);
  const from = turns.length;
  try {
    for (const pod of pods) await harm.freeze("default", pod);
    const frozen = (turn: Turn) => turn.key === `default/${FROZEN}` && turn.ended - turn.began > 500;
    await eventually("a pass waits for the frozen members", () => turns.slice(from).some(frozen));
    const beside = await changesOf("beside");
    t.diagnostic(`a change takes ${listed(free)}; beside a frozen cluster ${listed(beside)}`);
    await eventually("others have their turn while one waits", () => {
      const since = turns.slice(from);
      const waits = since.filter(frozen);
      return since.some(({ began, ended }) => waits.some((one) => began > one.began && ended < one.ended));
    });
    assert.ok(median(beside) < INDEPENDENT_MS + 5 * median(free), listed(beside));
  } finally {
    for (const pod of pods) await harm.thaw("default", pod);
  }
  await clusterOf(FROZEN).converged(3);
});

test("nothing went wrong on the way", () => {
  assert.deepEqual(
    running.log.filter((line) => line.startsWith("error")),
    [],
  );
  assert.deepEqual(
    running.steps.filter((step) => step.includes("failed")),
    [],
  );
});

/** Resolves when nothing was written for a while. */
async function settled(): Promise<void> {
  let [known, since] = [-1, Date.now()];
  await eventually(
    "the operator has told everything",
    () => {
      const now = writes(running.calls).length;
      if (now !== known) [known, since] = [now, Date.now()];
      return Date.now() - since > SETTLED_MS;
    },
    { withinMs: PATIENCE_MS },
  );
}

/** What the operator did in a window in which no etcd changed by itself; keys of the written are written by others. */
async function restWindow(written: readonly string[]): Promise<{ seen: string; changes: string[] }> {
  for (let tries = 1; ; tries++) {
    const [calls, steps, looks] = [running.calls.length, running.steps.length, passes.length];
    const before = await etcdCalls(written);
    await sleep(WINDOW_MS);
    const now = await etcdCalls(written);
    const made = running.calls.slice(calls).map(({ verb, resource }) => `${verb} ${resource}`);
    const changes = [
      ...made.filter((call) => !call.endsWith(" leases") && !call.startsWith("watch ")),
      ...running.steps.slice(steps),
      ...[...now].flatMap(([what, count]) =>
        count === before.get(what) ? [] : [`${what}: ${before.get(what) ?? 0} → ${count}`],
      ),
    ];
    const upset = upsets(passes.slice(looks));
    const seen = `${WINDOW_MS / 1000} s, window ${tries}: ${passes.length - looks} passes, ${made.length} calls`;
    if (changes.length === 0 || upset.length === 0) return { seen, changes };
    if (tries === MOST_WINDOWS)
      throw new Error(`no quiet window: ${upset.join("; ")}; the operator: ${changes.join("; ")}`);
  }
}

/** Clusters of which not every pass has seen the same: a member did not answer in time, or another leads. */
function upsets(seen: readonly Pass[]): string[] {
  const first = new Map<string, string>();
  const upset = new Set<string>();
  for (const { observation } of seen) {
    const { cluster, members } = observation;
    const state = members
      .map(({ record, workload, answer }) =>
        answer.reachable
          ? `${record.name} ${workload.state} ${answer.linearizable} ${answer.leaderID} ${answer.raftTerm}`
          : `${record.name} does not answer`,
      )
      .join(", ");
    const known = first.get(cluster.name);
    if (known === undefined) first.set(cluster.name, state);
    if ((known !== undefined && known !== state) || state.includes("does not answer"))
      upset.add(`${cluster.name}: ${state}`);
  }
  return [...upset];
}

/** How often calls that change something have come to each member, as etcd counts them. */
async function etcdCalls(written: readonly string[]): Promise<Map<string, number>> {
  const counted = await Promise.all(
    [...clusters].map(async ([name, cluster]) => {
      const own = CHANGING.filter((method) => method !== "Put" || !written.includes(name));
      const pods = await cluster.pods();
      return await Promise.all(
        pods.map(async ({ metadata, status }) => {
          const answer = await fetch(`http://${status?.podIP}:${PORTS.metrics}/metrics`);
          const calls = new Map(
            [...(await answer.text()).matchAll(STARTED)].map(([, method, count]) => [method, Number(count)]),
          );
          assert.ok(calls.has("MemberAdd"), "etcd counts its calls");
          return own.map((method): [string, number] => [
            `${method} at ${metadata?.name}`,
            calls.get(method) ?? 0,
          ]);
        }),
      );
    }),
  );
  return new Map(counted.flat(2));
}

/** An application that writes fifty times a second, or as often as etcd can. */
class Writer {
  readonly #client: EtcdClient;
  readonly #stop = new AbortController();
  readonly #done: Promise<number>;

  private constructor(client: EtcdClient) {
    this.#client = client;
    this.#done = this.#run();
  }

  static async start(cluster: ClusterOnBed): Promise<Writer> {
    return new Writer(await cluster.etcd());
  }

  /** How often it wrote. */
  async stop(): Promise<number> {
    this.#stop.abort();
    return await this.#done;
  }

  async #run(): Promise<number> {
    let written = 0;
    while (!this.#stop.signal.aborted) {
      const next = performance.now() + WRITE_EVERY_MS;
      const key = `key-${written % 100}`;
      // A busy machine may miss a deadline; what counts is that most are written.
      written += await this.#client.kv.put(key, "x".repeat(200)).then(
        () => 1,
        () => 0,
      );
      await sleep(Math.max(0, next - performance.now()));
    }
    return written;
  }
}

/** How long it takes from an edit to its effect, of one cluster after the other. */
async function changesOf(value: string, names = EDITED): Promise<number[]> {
  const times: number[] = [];
  for (const name of names) {
    const began = performance.now();
    await clusterOf(name).edit({ service: { labels: { reported: value } } });
    await eventually(
      `the Service of ${name} has the label`,
      async () => {
        const { metadata } = await bed.client.get<Service>(`${PATHS.services}/${name}-client`);
        return metadata?.labels?.["reported"] === value;
      },
      { everyMs: 10 },
    );
    times.push(performance.now() - began);
  }
  return times;
}

function median(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[times.length >> 1] ?? Number.NaN;
}

function listed(times: readonly number[]): string {
  return `${times.map((ms) => ms.toFixed(0)).join(", ")} ms`;
}

function sizeOf(name: string): number {
  return TRIPLES.includes(name) ? 3 : 1;
}

function clusterOf(name: string): ClusterOnBed {
  const cluster = clusters.get(name);
  assert.ok(cluster, name);
  return cluster;
}
