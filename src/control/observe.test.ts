import assert from "node:assert/strict";
import { test } from "node:test";
import { change, healthy } from "../core/testing/cluster.ts";
import { EtcdClient } from "../etcd/client.ts";
import { FakeTransport, ManualClock } from "../etcd/testing.ts";
import type { Clock } from "../seams/clock.ts";
import { RpcFailure } from "../seams/etcd-transport.ts";
import { askMember } from "./ask.ts";
import { Observer } from "./observe.ts";
import type { Platform } from "./platform.ts";

/** A platform whose members never answer, with objects that a test may exchange. */
function world(setBackMs = () => 0) {
  const clock = new ManualClock();
  const seen = { now: healthy({ replicas: 1 }) };
  const platform: Platform = {
    read: () => {
      const { cluster, members, platform: facts } = seen.now;
      return Promise.resolve({ cluster, members, platform: facts });
    },
    apply: () => Promise.resolve({ changed: false, problems: [] }),
    execute: () => Promise.resolve(),
    describe: () => Promise.resolve({}),
    report: () => Promise.resolve(),
    endpoint: ({ name }) => ({ name, url: `http://${name}:2379` }),
    isOurs: () => true,
    transport: new FakeTransport(() => "silence"),
    probe: { versions: () => Promise.reject(new Error("no answer")), alive: () => Promise.resolve(false) },
  };
  seen.now = change(seen.now, "demo-1", { workload: { state: "absent" } });
  const wall: Clock = {
    now: () => clock.now() - setBackMs(),
    monotonic: () => clock.monotonic(),
    timer: (ms, fire) => clock.timer(ms, fire),
  };
  const observer = new Observer(platform, wall);
  const observed = () => observer.observe();
  const since = async () => (await observed())?.members[0]?.unhealthySince;
  return { clock, seen, since, observed };
}

test("a member is unhealthy since it was first seen so", async () => {
  const { clock, since } = world();
  const first = await since();
  await clock.advance(5_000);
  assert.equal(await since(), first);
});

test("a clock that is set, forward or back, changes nothing about how long ago something was", async () => {
  for (const set of [7_200_000, -7_200_000]) {
    let setBack = 0;
    const { clock, since } = world(() => setBack);
    const first = await since();
    await clock.advance(60_000);
    setBack = set;
    assert.equal(await since(), (first ?? 0) - set);
    await clock.advance(5_000);
    assert.equal(await since(), (first ?? 0) - set);
  }
});

test("a workload is as it is since we have seen it so, whatever the clock of its node says", async () => {
  const { clock, seen, observed } = world();
  const began = clock.now();
  const run = { state: "running", startedFrom: "x", restarts: 0 } as const;
  for (const nodeAhead of [600_000, -600_000]) {
    seen.now = change(seen.now, "demo-1", { workload: { state: "absent" } });
    await observed();
    await clock.advance(1_000);
    const since = clock.now();
    seen.now = change(seen.now, "demo-1", { workload: { ...run, since: since + nodeAhead } });
    const running = async () => (await observed())?.members[0]?.workload;
    // Nobody answers within the patience for a member that starts.
    const first = running();
    await clock.advance(1_000);
    const seenAt = ((await first) as { since: number }).since;
    assert.ok(seenAt >= since && seenAt <= since + 1_000 && seenAt > began);
    const again = running();
    await clock.advance(1_000);
    assert.equal(((await again) as { since: number }).since, seenAt);
    seen.now = change(seen.now, "demo-1", { workload: { ...run, since: since + nodeAhead, restarts: 1 } });
    const restarted = running();
    await clock.advance(1_000);
    assert.ok(((await restarted) as { since: number }).since > seenAt);
  }
});

test("another template is another chance: it is not judged by how long the last one failed", async () => {
  const { clock, seen, since } = world();
  const first = await since();
  await clock.advance(5_000);
  seen.now = change(seen.now, "demo-1", ({ record }) => ({
    record: { ...record, template: { ...record.template, version: "3.6.17" } },
  }));
  assert.equal(await since(), (first ?? 0) + 5_000);
});

test("a voter that answers serves only if a read goes through quorum; a learner is not even asked for one (I6, R17)", async () => {
  const asked = async (isLearner: boolean, leader: bigint, range: "answers" | "fails") => {
    const header = { clusterId: 1n, memberId: 2n, revision: 3n, raftTerm: 4n };
    const transport = new FakeTransport(({ call }) => {
      if (call.endsWith("Status")) return { header, version: "3.6.16", leader, isLearner };
      return range === "answers" ? { header } : new RpcFailure("UNAVAILABLE", "no leader", "not-sent");
    });
    const client = new EtcdClient({ transport, clock: new ManualClock(), endpoints: [] });
    const { answer } = await askMember(client, { name: "demo-1", url: "http://demo-1:2379" }, false);
    const reads = transport.sent.filter(({ call }) => call.endsWith("Range")).length;
    return [answer.reachable && answer.linearizable, reads > 0];
  };
  assert.deepEqual(await asked(false, 2n, "answers"), [true, true]);
  assert.deepEqual(await asked(false, 2n, "fails"), [false, true]);
  assert.deepEqual(await asked(false, 0n, "answers"), [false, false]);
  assert.deepEqual(await asked(true, 2n, "answers"), [false, false]);
});
