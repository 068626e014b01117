/**
 * Volumes emptied under running members on real nodes, soon after they have joined, when a kubelet may still have
 * the file of their first start (H3): nobody votes without its memory, and no empty cluster is told as healthy.
 * `npm run e2e -- --all` makes 50 trials per medium and size, `npm test` five per medium. docs/start.md has the
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
  etcdOf,
  healKubelet,
  isOpen,
  MEDIA,
  running,
  specOf,
  tryIt,
  watchFor,
  type Ground,
  type Medium,
  type Outcome,
  type Trial,
} from "./empty-start.ts";
import { Lab } from "../../testbed/on-nodes/lab.ts";

const ALL = process.env["QUORATE_ALL"] === "1";
const PATIENCE = { withinMs: 120_000, everyMs: 100 };
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
const AT_ONCE = ALL ? 2 : 1;

/** Waits after the member has joined. */
const WAITS_MS = [0, 500, 2_000, 10_000, 60_000] as const;

type Plan = Pick<Trial, "replicas" | "waitMs">;
const SAMPLE: readonly Plan[] = [
  { replicas: 1, waitMs: 0 },
  { replicas: 1, waitMs: 500 },
  { replicas: 1, waitMs: 2_000 },
  { replicas: 3, waitMs: 0 },
  { replicas: 3, waitMs: 2_000 },
];
const FULL: readonly Plan[] = ([1, 3] as const).flatMap((replicas) =>
  Array.from({ length: 50 }, (_, i) => ({ replicas, waitMs: WAITS_MS[i % WAITS_MS.length] ?? 0 })),
);

function judge(trial: Trial, outcome: Outcome): void {
  const { startedEmpty, open, told } = outcome;
  const what = `${trial.name}, ${trial.waitMs} ms after it had joined: ${JSON.stringify(outcome)}`;
  if (open) assert.equal(startedEmpty, false, `an empty start of a member that clients depend on: ${what}`);
  if (trial.replicas === 3) assert.equal(startedEmpty, false, `a voter without its memory: ${what}`);
  if (trial.replicas === 1 && open) assert.equal(told, "DataGone", what);
}

async function trials(medium: Medium, plans: readonly Plan[]): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  const left = [...plans.entries()];
  const work = async () => {
    for (let next = left.shift(); next; next = left.shift()) {
      const [i, plan] = next;
      const trial = { ...plan, medium, name: `${medium.toLowerCase()}-${i}` };
      const outcome = await tryIt(ground, trial);
      judge(trial, outcome);
      outcomes[i] = outcome;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return outcomes;
}

function summary(outcomes: readonly Outcome[]): string {
  const range = (values: readonly number[]) => {
    const sorted = values.filter((value) => value >= 0).toSorted((a, b) => a - b);
    const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)] ?? "-";
    return `median ${at(0.5)}, longest ${at(1)} ms`;
  };
  const files = range(outcomes.map(({ fileMs }) => fileMs));
  const opened = range(outcomes.map(({ openMs }) => openMs ?? -1));
  const empties = outcomes.filter(({ startedEmpty }) => startedEmpty).length;
  return `${outcomes.length} trials; new file after ${files}; clients let in after ${opened}; started empty: ${empties}`;
}

test("an emptied member does not come back under its old identity, whatever it keeps its data in", async (t) => {
  const plans = ALL ? FULL : SAMPLE;
  const done = await Promise.all(MEDIA.map(async (medium) => [medium, await trials(medium, plans)] as const));
  for (const [medium, outcomes] of done)
    for (const size of [1, 3] as const)
      t.diagnostic(`${medium}, ${size}: ${summary(outcomes.filter((_, i) => plans[i]?.replicas === size))}`);
});

test("a kubelet that is cut off keeps the old file: no client is let in, and nothing empty is told as healthy", async (t) => {
  const name = "cut";
  const trial: Trial = { name, medium: "Ephemeral", replicas: 1, waitMs: 0 };
  await ground.lab.call("create", name, specOf(trial));
  const pod = await running(ground, `${name}-1`);
  const uid = pod.metadata?.uid ?? "";
  const node = Number(pod.spec?.nodeName?.split("-").at(-1));
  await cutKubelet(ground, node);
  try {
    await eventually(
      "it waits for its node",
      async () => (await available(ground, name)) === "Booting",
      PATIENCE,
    );
    const pid = await eventually("it runs", () => Promise.resolve(etcdOf(uid)), PATIENCE);
    const next = watchFor(uid, pid);
    empty(pid);
    await eventually("it has started over", () => Promise.resolve(next.made()), PATIENCE);
    next.stop();
    t.diagnostic("the restart read the old file, and started over");
    assert.equal(await isOpen(ground, name), false);
    assert.equal(await available(ground, name), "Booting");
  } finally {
    await healKubelet(ground, node);
  }
  await ground.lab.call("converged", name, 1);
  assert.equal(await isOpen(ground, name), true);
});

if (ALL)
  test("a node that reboots mounts the file as it is", async (t) => {
    for (const medium of MEDIA) {
      const name = `reboot-${medium.toLowerCase()}`;
      await ground.lab.call("create", name, specOf({ name, medium, replicas: 1, waitMs: 0 }));
      await ground.lab.call("converged", name, 1);
      const pod = await running(ground, `${name}-1`);
      const uid = pod.metadata?.uid ?? "";
      const pid = etcdOf(uid) ?? 0;
      const node = Number(pod.spec?.nodeName?.split("-").at(-1));
      const next = watchFor(uid, pid);
      empty(pid);
      await nodeVerb(ground.bed.name, "crash", node, () => {}, 90);
      await nodeVerb(ground.bed.name, "start", node, () => {}, 90);
      await eventually(
        `${name} is told as lost`,
        async () => (await available(ground, name)) === "DataGone",
        PATIENCE,
      );
      next.stop();
      assert.equal(next.made(), false, name);
      t.diagnostic(`${medium}: told as lost`);
    }
  });
