/**
 * Volumes emptied under running members on real nodes, soon after they have joined, when a kubelet may still have
 * the file of their first start (H3): nobody votes without its memory, and no empty cluster is reported as healthy.
 * `npm run e2e -- --all` makes 50 trials per medium and size, `npm test` five per medium. docs/start.md has the
 * numbers that it prints.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Pod } from "kubernetes-types/core/v1.d.ts";
import { eventually } from "../../../testbed/eventually.ts";
import { upForTests } from "../../../testbed/for-tests.ts";
import { nodeVerb } from "../../../testbed/nodes/verbs.ts";
import {
  available,
  cutKubelet,
  empty,
  healKubelet,
  isOpen,
  joined,
  MEDIA,
  namesItselfAlone,
  processOf,
  running,
  specOf,
  tryIt,
  watchFor,
  wholeAgain,
  type Ground,
  type Medium,
  type Outcome,
  type Trial,
} from "./empty-start.ts";
import { PATHS } from "../../support/kube-paths.ts";
import { EVERY_CASE } from "../../support/sample.ts";
import { Lab } from "../../testbed/on-nodes/lab.ts";

const PATIENCE = { withinMs: EVERY_CASE ? 240_000 : 120_000, everyMs: 100 };
const SIZES = [1, 3] as const;
let ground: Ground;

before(async () => {
  // With many clusters at once a kubelet may be late, and a node that is only late must not lose its Pods.
  const bed = await upForTests({ nodes: 3, detection: EVERY_CASE ? "standard" : "quick" });
  ground = { bed, lab: new Lab(bed.name) };
  await ground.lab.call("define");
  await ground.lab.call("startOperator");
});

after(async () => {
  await ground?.lab.end();
  await ground?.bed.down();
});

/** Clusters of each medium. */
const AT_ONCE = EVERY_CASE ? 2 : 1;
const TRIALS = 50;

/** Waits after the member has joined. */
const WAITS_MS = [0, 500, 2_000, 10_000, 60_000] as const;

type Plan = Pick<Trial, "replicas" | "victim" | "waitMs">;
const SAMPLE: readonly Plan[] = [
  { replicas: 1, victim: 1, waitMs: 0 },
  { replicas: 1, victim: 1, waitMs: 500 },
  { replicas: 1, victim: 1, waitMs: 2_000 },
  { replicas: 3, victim: 1, waitMs: 0 },
  { replicas: 3, victim: 2, waitMs: 2_000 },
];
/** One and three members in turn, so that the long waits of some fall on the work of others. */
const FULL: readonly Plan[] = Array.from({ length: TRIALS }, (_, i) =>
  SIZES.map((replicas): Plan => ({
    replicas,
    victim: 1 + (i % replicas),
    waitMs: WAITS_MS[i % WAITS_MS.length] ?? 0,
  })),
).flat();

interface Result extends Trial {
  readonly outcome: Outcome | undefined;
  /** What went wrong. */
  readonly flaw: string | undefined;
}

/** Before clients are let in, a founder that starts over loses nothing that anybody was promised. */
function flawOf({ replicas }: Trial, { startedEmpty, open, reported }: Outcome): string | undefined {
  if (open && startedEmpty) return "an empty start of a member that clients depend on";
  if (replicas === 1 && open && reported !== "DataGone") return `lost data is reported as ${reported}`;
  return undefined;
}

/** A trial that came to nothing, because a machine with much to do was too slow, say, is made again. */
const ATTEMPTS = EVERY_CASE ? 3 : 1;

async function result(trial: Trial): Promise<Result> {
  let flaw = "";
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const name = attempt === 1 ? trial.name : `${trial.name}-${attempt}`;
    try {
      const outcome = await tryIt(ground, { ...trial, name });
      return { ...trial, name, outcome, flaw: flawOf(trial, outcome) };
    } catch (error) {
      flaw = error instanceof Error ? error.message : String(error);
      if (attempt < ATTEMPTS) console.log(`${name} came to nothing, and is made again: ${flaw}`);
    }
  }
  return { ...trial, outcome: undefined, flaw };
}

async function trials(medium: Medium, plans: readonly Plan[], part: number): Promise<Result[]> {
  const results: Result[] = [];
  const left = [...plans.entries()];
  const work = async () => {
    for (let next = left.shift(); next; next = left.shift()) {
      const [i, plan] = next;
      const one = await result({ ...plan, medium, name: `${medium.toLowerCase()}-${part}-${i}` });
      // The long run tells what it knows so far.
      if (EVERY_CASE) console.log(JSON.stringify(one));
      results.push(one);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return results;
}

function summary(results: readonly Result[]): string {
  const range = (values: readonly number[]) => {
    const sorted = values.filter((value) => value >= 0).toSorted((a, b) => a - b);
    const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)] ?? "-";
    return `median ${at(0.5)}, longest ${at(1)} ms`;
  };
  const outcomes = results.flatMap(({ outcome }) => (outcome ? [outcome] : []));
  const files = range(outcomes.map(({ fileMs }) => fileMs));
  const opened = range(outcomes.map(({ openMs }) => openMs ?? -1));
  const count = (is: (outcome: Outcome) => boolean) => outcomes.filter(is).length;
  return [
    `${results.length} trials`,
    `${count(({ fileMs }) => fileMs >= 0)} had the new file, after ${files}`,
    `${count(({ open }) => open)} had let clients in, after ${opened}`,
    `started empty: ${count(({ startedEmpty, open }) => startedEmpty && !open)} before that (${count(({ kept }) => kept)} of three kept), ${count(({ startedEmpty, open }) => startedEmpty && open)} after`,
  ].join("; ");
}

/** Trials of each medium and size; the long run is made in parts, each of which has a result of its own. */
const IN_A_PART = 10;
const PARTS = EVERY_CASE
  ? Array.from({ length: TRIALS / IN_A_PART }, (_, i) => ({
      which: ` (part ${i + 1} of ${TRIALS / IN_A_PART})`,
      plans: FULL.slice(i * IN_A_PART * SIZES.length, (i + 1) * IN_A_PART * SIZES.length),
    }))
  : [{ which: "", plans: SAMPLE }];

for (const [part, { which, plans }] of PARTS.entries())
  test(`an emptied member does not come back under its old identity, whatever it keeps its data in${which}`, async (t) => {
    const results = (await Promise.all(MEDIA.map((medium) => trials(medium, plans, part)))).flat();
    for (const medium of MEDIA)
      for (const size of SIZES)
        for (const waitMs of WAITS_MS) {
          const those = results.filter(
            (one) => one.medium === medium && one.replicas === size && one.waitMs === waitMs,
          );
          if (those.length > 0) t.diagnostic(`${medium}, ${size}, ${waitMs} ms: ${summary(those)}`);
        }
    assert.equal(results.length, plans.length * MEDIA.length);
    assert.deepEqual(
      results.filter(({ flaw }) => flaw !== undefined),
      [],
    );
  });

const NODES = [1, 2, 3];

interface Victim {
  readonly cluster: string;
  readonly pod: Pod;
  readonly pid: number;
  readonly next: ReturnType<typeof watchFor>;
}

/** Names of new clusters, one of each medium, all of whose Pods may start without the operator. */
async function created(kind: string, replicas: Trial["replicas"]): Promise<string[]> {
  return await Promise.all(
    MEDIA.map(async (medium) => {
      const name = `${kind}-${replicas}-${medium.toLowerCase()}`;
      await ground.lab.call("create", name, specOf({ name, medium, replicas }));
      await eventually(
        `${name} has its Pods`,
        async () => (await podsOf(name)).filter(isPermitted).length === replicas,
        PATIENCE,
      );
      return name;
    }),
  );
}

async function podsOf(name: string): Promise<Pod[]> {
  const selector = encodeURIComponent(`etcd.quorate.dev/cluster=${name}`);
  return (await ground.bed.client.get<{ items: Pod[] }>(`${PATHS.pods}?labelSelector=${selector}`)).items;
}

const isPermitted = ({ spec }: Pod) => (spec?.schedulingGates?.length ?? 0) === 0;

const nodeOf = ({ spec }: Pod) => Number(spec?.nodeName?.split("-").at(-1));

async function victimOf(cluster: string, pod: Pod): Promise<Victim> {
  const pid = await processOf(pod);
  return { cluster, pod, pid, next: watchFor(pod.metadata?.uid ?? "", pid) };
}

/** Of three, the two others go on. `open`: clients had been let in, and then it is never a voter without its memory. */
async function areWholeAgain(victims: readonly Victim[], open: (cluster: string) => boolean): Promise<void> {
  for (const { cluster, pod, next } of victims) {
    await wholeAgain(ground, cluster, pod, () => !open(cluster) && next.made());
    next.stop();
    if (open(cluster)) assert.equal(next.made(), false, `${cluster}: a voter without its memory`);
  }
}

async function removed(clusters: readonly string[]): Promise<void> {
  for (const name of clusters) await ground.bed.client.delete(`${PATHS.clusters}/${name}`);
}

// What is done to whole nodes takes minutes; sim/operator/empty-start.test.ts shows what becomes of it in seconds.
for (const replicas of EVERY_CASE ? SIZES : [])
  test(`kubelets that are cut off keep the old file, and nobody depends on the member (of ${replicas})`, async (t) => {
    const clusters = await created("cut", replicas);
    // Nobody is to join before the kubelets are cut off.
    await ground.lab.call("stopOperator");
    const victims = await Promise.all(
      clusters.map(async (name) => {
        const pods = await Promise.all(
          (await podsOf(name)).map(({ metadata }) => running(ground, metadata?.name ?? "")),
        );
        return await victimOf(name, pods[0] ?? {});
      }),
    );
    const late = new Set<string | undefined>();
    for (const node of NODES) await cutKubelet(ground, node);
    try {
      await ground.lab.call("startOperator");
      for (const { pod } of victims) await joined(ground, pod.metadata?.name ?? "");
      for (const { pid, pod } of victims) {
        // On a busy machine the operator may have been quicker than the cut.
        if (!namesItselfAlone(pid)) late.add(pod.metadata?.uid);
        empty(pid);
      }
      t.diagnostic(`${late.size} of ${victims.length} with the old file`);
      for (const { cluster, pod, next } of replicas === 1 ? victims : []) {
        if (!late.has(pod.metadata?.uid)) continue;
        await eventually(`${cluster} has started over`, () => Promise.resolve(next.made()), PATIENCE);
        t.diagnostic(`${cluster}: the restart read the old file, and started over`);
      }
      for (const { cluster } of victims) {
        assert.equal(await isOpen(ground, cluster), false, cluster);
        assert.notEqual(await available(ground, cluster), "Quorum", cluster);
      }
    } finally {
      for (const node of NODES) await healKubelet(ground, node);
    }
    if (replicas === 3) await areWholeAgain(victims, () => false);
    for (const { cluster, pod, next } of victims) {
      next.stop();
      if (replicas === 3 || late.has(pod.metadata?.uid)) {
        await ground.lab.call("converged", cluster, replicas);
        assert.equal(await isOpen(ground, cluster), true, cluster);
      } else {
        const isTold = async () => (await available(ground, cluster)) === "DataGone";
        await eventually(`${cluster} is reported as lost`, isTold, PATIENCE);
        assert.equal(next.made(), false, cluster);
      }
    }
    await removed(clusters);
  });

if (EVERY_CASE)
  for (const replicas of SIZES)
    for (const moment of ["joined", "rests"] as const)
      test(`a node that reboots mounts the file as it is (of ${replicas}, when it ${moment === "rests" ? "rests" : "has joined"})`, async (t) => {
        const clusters = await created(`reboot-${moment}`, replicas);
        const victims: Victim[] = [];
        for (const name of clusters) {
          if (moment === "rests") await ground.lab.call("converged", name, replicas);
          // Of three, one is on each node, once it is placed.
          const onNode = async () =>
            (await podsOf(name)).find((one) => (replicas === 1 ? nodeOf(one) > 0 : nodeOf(one) === 1));
          const pod = await eventually(`a Pod of ${name} is placed`, onNode, PATIENCE);
          await joined(ground, pod.metadata?.name ?? "");
          victims.push(await victimOf(name, await running(ground, pod.metadata?.name ?? "")));
        }
        const open = new Map<string, boolean>();
        for (const { cluster, pid } of victims) {
          open.set(cluster, await isOpen(ground, cluster));
          empty(pid);
        }
        for (const node of new Set(victims.map(({ pod }) => nodeOf(pod)))) {
          await nodeVerb(ground.bed.name, "crash", node, () => {}, 90);
          await nodeVerb(ground.bed.name, "start", node, () => {}, 90);
        }
        if (replicas === 3) await areWholeAgain(victims, (cluster) => open.get(cluster) === true);
        for (const { cluster, next } of replicas === 1 ? victims : []) {
          const isJudged = async () =>
            (await available(ground, cluster)) === "DataGone" || (!open.get(cluster) && next.made());
          await eventually(`${cluster} is reported as lost, or has started over`, isJudged, PATIENCE);
          next.stop();
          if (open.get(cluster)) assert.equal(next.made(), false, cluster);
        }
        for (const { cluster, next } of victims)
          t.diagnostic(`${cluster}: clients let in: ${open.get(cluster)}; started empty: ${next.made()}`);
        await removed(clusters);
      });
