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
      const { cluster, members, platform: facts, operations } = seen.now;
      return Promise.resolve({ cluster, members, platform: facts, operations });
    },
    apply: () => Promise.resolve({ changed: false, problems: [] }),
    execute: () => Promise.resolve(),
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
  return { clock, seen, since, observed, platform };
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

test("a member that has not answered so far is given more time the longer it runs, or a slow one is never heard", async () => {
  const { clock, seen, observed } = world();
  const since = clock.now();
  const workload = { state: "running", startedFrom: "x", restarts: 0, since } as const;
  seen.now = change(seen.now, "demo-1", { workload });
  const waited = async () => {
    const began = clock.now();
    let over = false;
    void observed().then(() => (over = true));
    while (!over) await clock.advance(50);
    return clock.now() - began;
  };
  assert.equal(await waited(), 200);
  seen.now = change(seen.now, "demo-1", { workload: { ...workload, ready: true } });
  assert.equal(await waited(), 1_000, "one that serves is not starting: this operator is");
  seen.now = change(seen.now, "demo-1", { workload });
  await clock.advance(5_000 - (clock.now() - since));
  assert.equal(await waited(), 500);
  await clock.advance(60_000);
  assert.equal(await waited(), 1_000);
});

test("what bears a member's name and is somebody else's is asked all the same: it may serve (I6)", async () => {
  const sentBy = async (reason: "NameClash" | "PodRefused") => {
    const { seen, observed, platform, clock } = world();
    const notMade = { reason, message: "in the way" };
    seen.now = change(seen.now, "demo-1", { workload: { state: "absent", notMade } });
    let over = false;
    void observed().then(() => (over = true));
    while (!over) await clock.advance(50);
    return (platform.transport as FakeTransport).sent.length;
  };
  assert.equal(await sentBy("PodRefused"), 0);
  assert.ok((await sentBy("NameClash")) > 0);
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
    const { answer } = await askMember(client, { name: "demo-1", url: "http://demo-1:2379" }, undefined);
    const reads = transport.sent.filter(({ call }) => call.endsWith("Range")).length;
    return [answer.reachable && answer.linearizable, reads > 0];
  };
  assert.deepEqual(await asked(false, 2n, "answers"), [true, true]);
  assert.deepEqual(await asked(false, 2n, "fails"), [false, true]);
  assert.deepEqual(await asked(false, 0n, "answers"), [false, false]);
  assert.deepEqual(await asked(true, 2n, "answers"), [false, false]);
});

test("what failed tells why a member cannot be asked, by its kind and not by its words (H16)", async () => {
  const cause = async (failure: RpcFailure) => {
    const client = new EtcdClient({
      transport: new FakeTransport(() => failure),
      clock: new ManualClock(),
      endpoints: [],
    });
    const { answer } = await askMember(client, { name: "demo-1", url: "http://demo-1:2379" }, undefined);
    return !answer.reachable && answer.cause;
  };
  assert.equal(await cause(new RpcFailure("UNAVAILABLE", "connect ECONNREFUSED", "not-sent")), "network");
  assert.equal(await cause(new RpcFailure("DEADLINE_EXCEEDED", "too late", "interrupted")), "network");
  const refused = new RpcFailure("UNAVAILABLE", "alert", "not-sent", { tls: "client-certificate-refused" });
  assert.equal(await cause(refused), "certificate");
  const untrusted = new RpcFailure("UNAVAILABLE", "expired", "not-sent", { tls: "untrusted-server" });
  assert.equal(await cause(untrusted), "certificate");
  assert.equal(await cause(new RpcFailure("PERMISSION_DENIED", "no", "answered")), "authentication");
  assert.equal(await cause(new RpcFailure("UNAUTHENTICATED", "no", "answered")), "authentication");
  assert.equal(await cause(new RpcFailure("INTERNAL", "?", "answered")), "unknown");
});

test("a read that is refused for who we are says nothing about the quorum (R40)", async () => {
  const header = { clusterId: 1n, memberId: 2n, revision: 3n, raftTerm: 4n };
  const refusal = new RpcFailure("INVALID_ARGUMENT", "etcdserver: user name is empty", "answered");
  const transport = new FakeTransport(({ call }) =>
    call.endsWith("Status") ? { header, version: "3.6.16", leader: 2n } : refusal,
  );
  const client = new EtcdClient({ transport, clock: new ManualClock(), endpoints: [] });
  const { answer } = await askMember(client, { name: "demo-1", url: "http://demo-1:2379" }, undefined);
  assert.ok(answer.reachable && answer.refused && !answer.linearizable);
});

/** demo-3 does not answer; the others do not either, but their metrics do. */
function hushed(ready: boolean | undefined, active: (url: string) => ReadonlySet<string> | undefined) {
  const clock = new ManualClock();
  const seen = { now: healthy() };
  const asked: string[] = [];
  const { platform } = world();
  const observer = new Observer(
    {
      ...platform,
      read: () => {
        const { cluster, members, platform: facts, operations } = seen.now;
        return Promise.resolve({ cluster, members, platform: facts, operations });
      },
      transport: new FakeTransport(() => new RpcFailure("UNAVAILABLE", "connect ETIMEDOUT", "not-sent")),
      probe: {
        ...platform.probe,
        ready: () => Promise.resolve(false),
        activePeers: (url) => {
          asked.push(url);
          return Promise.resolve(active(url));
        },
      },
    },
    clock,
  );
  const become = (state: boolean | undefined) => {
    for (const name of ["demo-1", "demo-2", "demo-3"])
      seen.now = change(seen.now, name, ({ workload }) => ({
        workload:
          workload.state === "running"
            ? { ...workload, ...(state !== undefined && { ready: state }) }
            : workload,
      }));
  };
  become(ready);
  const look = async () => (await observer.observe())?.members[2];
  return { clock, become, look, asked, id: seen.now.members[2]?.record.memberID ?? "" };
}

test("peers are asked about a member that is said to be ready and does not answer, and not at every look", async () => {
  const silent = hushed(true, () => new Set([silent.id]));
  assert.equal((await silent.look())?.seenByPeers, true);
  const before = silent.asked.length;
  assert.ok(before > 0 && silent.asked.every((url) => url.endsWith(":2381")));
  await silent.look();
  assert.equal(silent.asked.length, before, "what they said a moment ago still holds");
  await silent.clock.advance(5_000);
  await silent.look();
  assert.ok(silent.asked.length > before);
  assert.equal((await hushed(true, () => new Set()).look())?.seenByPeers, false);
  assert.equal((await hushed(true, () => undefined).look())?.seenByPeers, undefined);
  const starting = hushed(false, () => new Set());
  await starting.look();
  assert.deepEqual(starting.asked, [], "one that is not ready is not asked about");
});

test("what only we did not see does not count against a member when others lose it too", async () => {
  const { clock, become, look } = hushed(true, () => undefined);
  const first = (await look())?.unhealthySince;
  await clock.advance(600_000);
  assert.equal((await look())?.unhealthySince, first);
  become(false);
  assert.equal((await look())?.unhealthySince, (first ?? 0) + 600_000);
});
