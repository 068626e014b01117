/**
 * Volumes emptied under running members on real nodes, soon after they have joined, when a kubelet may still have
 * the file of their first start (H3): nobody votes without its memory, and no empty cluster is told as healthy.
 * `npm run e2e -- --all` makes 50 trials per medium and size, `npm test` three per medium. docs/start.md has the
 * numbers that it prints.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
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
  processOf,
  replaced,
  running,
  specOf,
  tryIt,
  watchFor,
  type Ground,
  type Medium,
  type Outcome,
  type Trial,
} from "./empty-start.ts";
import { PATHS } from "../../support/kube-paths.ts";
import { EVERY_CASE } from "../../support/sample.ts";
import { Lab } from "../../testbed/on-nodes/lab.ts";

const PATIENCE = { withinMs: 120_000, everyMs: 100 };
const SIZES = [1, 3] as const;
let ground: Ground;

before(async () => {
  const bed = await upForTests({ nodes: 3 });
  ground = { bed, lab: new Lab(bed.name) };
  await ground.lab.call("define");
  await ground.lab.call("startOperator");
});

after(async () => {
  await ground?.lab.end();
  await ground?.bed.down();
});

/** Clusters of each medium. */
const AT_ONCE = EVERY_CASE ? 3 : 1;
const TRIALS = 50;

/** Waits after the member has joined. */
const WAITS_MS = [0, 500, 2_000, 10_000, 60_000] as const;

type Plan = Pick<Trial, "replicas" | "victim" | "waitMs">;
const SAMPLE: readonly Plan[] = [
  { replicas: 1, victim: 1, waitMs: 0 },
  { replicas: 1, victim: 1, waitMs: 2_000 },
  { replicas: 3, victim: 2, waitMs: 500 },
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

function flawOf({ replicas }: Trial, { startedEmpty, open, told }: Outcome): string | undefined {
  if (open && startedEmpty) return "an empty start of a member that clients depend on";
  if (replicas === 3 && startedEmpty) return "a voter without its memory";
  if (replicas === 1 && open && told !== "DataGone") return `lost data is told as ${told}`;
  return undefined;
}

async function result(trial: Trial): Promise<Result> {
  try {
    const outcome = await tryIt(ground, trial);
    return { ...trial, outcome, flaw: flawOf(trial, outcome) };
  } catch (error) {
    return { ...trial, outcome: undefined, flaw: error instanceof Error ? error.message : String(error) };
  }
}

async function trials(medium: Medium, plans: readonly Plan[]): Promise<Result[]> {
  const results: Result[] = [];
  const left = [...plans.entries()];
  const work = async () => {
    for (let next = left.shift(); next; next = left.shift()) {
      const [i, plan] = next;
      const one = await result({ ...plan, medium, name: `${medium.toLowerCase()}-${i}` });
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
    `started empty: ${count(({ startedEmpty, open }) => startedEmpty && !open)} before that, ${count(({ startedEmpty, open }) => startedEmpty && open)} after`,
  ].join("; ");
}

test("an emptied member does not come back under its old identity, whatever it keeps its data in", async (t) => {
  const plans = EVERY_CASE ? FULL : SAMPLE;
  const results = (await Promise.all(MEDIA.map((medium) => trials(medium, plans)))).flat();
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

type Setting = Pick<Trial, "medium" | "replicas">;
const SETTINGS: readonly Setting[] = EVERY_CASE
  ? MEDIA.flatMap((medium) => SIZES.map((replicas) => ({ medium, replicas })))
  : [{ medium: "Ephemeral", replicas: 1 }];
const nodeOf = ({ spec }: Awaited<ReturnType<typeof running>>) => Number(spec?.nodeName?.split("-").at(-1));

for (const { medium, replicas } of SETTINGS)
  test(`a kubelet that is cut off keeps the old file: nobody depends on the member (${medium}, ${replicas})`, async (t) => {
    const name = `cut-${medium.toLowerCase()}-${replicas}`;
    await ground.lab.call("create", name, specOf({ name, medium, replicas }));
    const victim = `${name}-1`;
    const pod = await running(ground, victim);
    const node = nodeOf(pod);
    await cutKubelet(ground, node);
    let healed = false;
    const heal = async () => {
      if (!healed) await healKubelet(ground, node);
      healed = true;
    };
    try {
      await joined(ground, victim);
      const pid = await processOf(pod);
      const next = watchFor(pod.metadata?.uid ?? "", pid);
      empty(pid);
      if (replicas === 1) {
        await eventually("it has started over", () => Promise.resolve(next.made()), PATIENCE);
        t.diagnostic("the restart read the old file, and started over");
        assert.equal(await isOpen(ground, name), false);
        assert.equal(await available(ground, name), "Booting");
      }
      await heal();
      // Two of three have a quorum, and their peer is refused by them (R6).
      if (replicas === 3) await replaced(ground, name, victim, pod);
      next.stop();
      if (replicas === 3) assert.equal(next.made(), false, "a voter without its memory");
    } finally {
      await heal();
    }
    await ground.lab.call("converged", name, replicas);
    assert.equal(await isOpen(ground, name), true);
    await ground.bed.client.delete(`${PATHS.clusters}/${name}`);
  });

/** Right after the member has joined, and when its cluster is at rest. */
const MOMENTS = ["joined", "rests"] as const;

if (EVERY_CASE)
  for (const { medium, replicas } of SETTINGS)
    test(`a node that reboots mounts the file as it is (${medium}, ${replicas})`, async (t) => {
      for (const moment of MOMENTS) {
        const name = `reboot-${moment}-${medium.toLowerCase()}-${replicas}`;
        await ground.lab.call("create", name, specOf({ name, medium, replicas }));
        const victim = `${name}-1`;
        const pod = await running(ground, victim);
        const pid = await processOf(pod);
        await joined(ground, victim);
        if (moment === "rests") await ground.lab.call("converged", name, replicas);
        const open = await isOpen(ground, name);
        const next = watchFor(pod.metadata?.uid ?? "", pid);
        empty(pid);
        const node = nodeOf(pod);
        await nodeVerb(ground.bed.name, "crash", node, () => {}, 90);
        await nodeVerb(ground.bed.name, "start", node, () => {}, 90);
        if (replicas === 3) await replaced(ground, name, victim, pod);
        else
          await eventually(
            `${name} is told as lost, or has started over`,
            async () => (await available(ground, name)) === "DataGone" || (!open && next.made()),
            PATIENCE,
          );
        next.stop();
        t.diagnostic(`${moment}: clients let in: ${open}; started empty: ${next.made()}`);
        if (open || replicas === 3) assert.equal(next.made(), false, name);
        await ground.bed.client.delete(`${PATHS.clusters}/${name}`);
      }
    });
