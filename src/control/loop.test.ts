import assert from "node:assert/strict";
import { test } from "node:test";
import { asked, change, edit, healthy } from "../core/testing/cluster.ts";
import { FakeTransport, ManualClock } from "../etcd/testing.ts";
import { Loop, type Pass } from "./loop.ts";
import { Conflict, type Applied, type ObjectAction, type Platform } from "./platform.ts";
import type { TranscriptEntry } from "./transcript.ts";

const nothing: Applied = { changed: false, problems: [] };

/** A platform that always shows the same objects and notes what it is asked for. */
function world(observation = asked({ replicas: 3 }), answers: Partial<Platform> = {}) {
  const done: string[] = [];
  const platform: Platform = {
    read: () => {
      const { cluster, members, platform: facts, operations } = observation;
      return Promise.resolve({ cluster, members, platform: facts, operations });
    },
    apply: () => {
      done.push("apply");
      return Promise.resolve(nothing);
    },
    execute: (action: ObjectAction) => {
      done.push(action.kind);
      return Promise.resolve();
    },
    describe: () => Promise.resolve({}),
    report: () => Promise.resolve(),
    endpoint: ({ name }) => ({ name, url: `http://${name}:2379` }),
    metricsURL: ({ name }) => `http://${name}:2381`,
    isOurs: () => true,
    transport: new FakeTransport(() => "silence"),
    probe: {
      versions: () => Promise.reject(new Error("no answer")),
      alive: () => Promise.resolve(false),
      ready: () => Promise.resolve(false),
      activePeers: () => Promise.resolve(undefined),
      certificate: () => Promise.resolve(undefined),
      offer: () => Promise.resolve(undefined),
    },
    ...answers,
  };
  const clock = new ManualClock();
  const passes: Pass[] = [];
  const steps: TranscriptEntry[] = [];
  const loop = new Loop({
    platform,
    clock,
    onPass: (pass) => passes.push(pass),
    onStep: (entry) => steps.push(entry),
  });
  return { loop, platform, clock, done, passes, steps };
}

/** The part of a kubelet. */
function keeps(done: () => string[]): () => Promise<Applied> {
  return () => {
    done().push("keep");
    return Promise.resolve(nothing);
  };
}

test("one step per pass, then another look at once", async () => {
  const { loop, done, passes, steps } = world();
  assert.equal(await loop.pass(), 0);
  assert.deepEqual(done, ["CreateMember"]);
  assert.equal(passes.length, 1);
  assert.deepEqual(
    steps.map(({ step }) => step),
    ["CreateMember"],
  );
});

test("status is reported on every pass: on one that takes a step, one that fails to, and one that applies (I6)", async () => {
  let reported = 0;
  const report = () => Promise.resolve(void reported++);
  const [steps, fails, applies] = [
    world(asked({ replicas: 3 }), { report }),
    world(asked({ replicas: 3 }), {
      report,
      execute: () => Promise.reject(new Conflict("changed meanwhile")),
    }),
    world(asked({ replicas: 0 }), { report }),
  ];
  for (const [i, { loop }] of [steps, fails, applies].entries()) {
    await loop.pass();
    assert.equal(reported, i + 1);
  }
  assert.deepEqual(steps.done, ["CreateMember"]);
});

test("however many steps there are to take, the objects get their turn", async () => {
  const { loop, done } = world();
  for (let i = 0; i < 12; i++) await loop.pass();
  assert.ok(done.indexOf("apply") > 0 && done.indexOf("apply") < 12);
});

test("a wait says since when it lasts, and is looked at less and less often", async () => {
  let observation = healthy({ replicas: 3 });
  for (const { record } of observation.members) {
    const workload = { state: "waiting", since: 0, reason: "ImagePullBackOff" } as const;
    observation = change(observation, record.name, { workload });
  }
  const { loop, clock, passes } = world(observation);
  const waits: (number | "gone")[] = [];
  for (let i = 0; i < 40; i++) {
    waits.push(await loop.pass());
    await clock.advance(60_000);
  }
  const reported = passes.map(({ decision }) => decision.holds.map(({ message }) => message).join());
  assert.match(reported.at(-1) ?? "", /it has been down since \d{4}-\d\d-\d\d/);
  assert.equal(reported.at(-1), reported.at(-2));
  assert.equal(waits.at(-1), 1_000);
});

test("a step that fails is reported in the pass, waits, and does not keep the objects from being made", async () => {
  const conflict = () => Promise.reject(new Conflict("changed"));
  const { loop, clock, done, steps } = world(undefined, { execute: conflict });
  const wait = await loop.pass();
  assert.ok(typeof wait === "number" && wait > 0 && wait <= 200);
  assert.deepEqual(done, ["apply"]);
  assert.equal(loop.latest?.failure?.message, "changed");
  await loop.pass();
  assert.equal(loop.latest?.failure?.attempts, 1, "not tried before its time");
  await clock.advance(200);
  await loop.pass();
  assert.equal(loop.latest?.failure?.attempts, 2);
  assert.equal(steps.length, 1, "the same words are reported once");
});

test("objects that cannot be made are reported in the status of the same pass", async () => {
  const apply = () => Promise.reject(new Error("the disk is full"));
  const { loop, done } = world(asked({ replicas: 0 }), { apply, keepRunning: keeps(() => done) });
  await loop.pass();
  assert.deepEqual(
    loop.latest?.problems.map(({ message }) => message),
    ["the disk is full"],
  );
  assert.deepEqual(done, ["keep"], "which keeps nothing from being restarted");
});

test("a cluster that is paused, or whose name is taken, gets nothing but restarts of what ran", async () => {
  const clash = { object: "the directory of demo-1", concerns: "cluster" } as const;
  const base = asked({ replicas: 3 });
  for (const observation of [
    edit(base, { paused: true }),
    { ...base, platform: { ...base.platform, clashes: [clash] } },
  ]) {
    const { loop, done } = world(observation, { keepRunning: keeps(() => done) });
    await loop.pass();
    assert.deepEqual(done, ["keep"]);
    const without = world(observation);
    await without.loop.pass();
    assert.deepEqual(without.done, [], "on Kubernetes kubelets do that");
  }
});

test("nothing is made while another controller may act, or for a cluster that is deleted", async () => {
  const base = asked({ replicas: 1 });
  const fenced = { ...base, platform: { ...base.platform, fenced: true } };
  const { loop, done } = world(fenced, { keepRunning: keeps(() => done) });
  await loop.pass();
  assert.deepEqual(done, []);
  const ending = { ...asked(), cluster: { ...asked().cluster, deleting: true } };
  const deleting = world(ending, { keepRunning: keeps(() => deleting.done) });
  await deleting.loop.pass();
  assert.deepEqual(deleting.done, ["FinishDeletion"]);
});

test("the loop ends when the cluster is gone, and goes on after a look that failed", async () => {
  let looks = 0;
  const read: Platform["read"] = () =>
    ++looks === 1 ? Promise.reject(new Error("unreadable")) : Promise.resolve(undefined);
  const { loop, clock } = world(undefined, { read });
  const end = loop.run(new AbortController().signal);
  await clock.advance(1_000);
  assert.equal(await end, "gone");
  assert.equal(looks, 2);
});

test("who may not act any more takes no step, applies nothing and tells nothing", async () => {
  const { done, ...fakes } = world();
  const reported: unknown[] = [];
  const platform = {
    ...fakes.platform,
    report: (status: unknown) => Promise.resolve(void reported.push(status)),
  };
  const beforeEffect = () => {
    throw new Error("the lease is lost");
  };
  const loop = new Loop({ platform, clock: fakes.clock, beforeEffect });
  await assert.rejects(loop.pass(), /the lease is lost/);
  assert.deepEqual([done, reported], [[], []]);
});

test("the first status goes on from the one that users see", async () => {
  const before = { conditions: [], revision: 77 };
  const { loop } = world(undefined, { lastStatus: () => before });
  await loop.pass();
  assert.equal(loop.latest?.status.revision, 77);
});
