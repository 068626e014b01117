import assert from "node:assert/strict";
import { test } from "node:test";
import { KubeFailure, type KubeRequest } from "../seams/kube-transport.ts";
import { KubeClient } from "./client.ts";
import { Lease } from "./lease.ts";
import { LeaseLost, type Term } from "./term.ts";
import { FakeServer, ManualClock, noRandom, settle } from "./testing.ts";

const LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
const cutOff = new KubeFailure("interrupted", "connection", "connection lost");

/** Each candidate has its own clock, so that one can be frozen or set while the others go on. */
function candidate(server: FakeServer, identity: string) {
  const clock = new ManualClock();
  const reported: string[] = [];
  const terms: Term[] = [];
  const requests: KubeRequest[] = [];
  let cut = false;
  const transport = {
    request: async (request: KubeRequest, options: { signal: AbortSignal }) => {
      requests.push(request);
      if (cut) throw new KubeFailure("not-sent", "connection", "no route");
      return await server.request(request, options);
    },
    stream: server.stream.bind(server),
    close: () => Promise.resolve(),
  };
  const lease = new Lease({
    client: new KubeClient({ transport, clock, fieldManager: "test" }),
    clock,
    random: noRandom,
    namespace: "default",
    name: "leader",
    identity,
    onElected: (term) => {
      terms.push(term);
      reported.push("elected");
    },
    onLost: (_, why) => reported.push(`lost: ${why}`),
  });
  const setCut = (value: boolean) => {
    cut = value;
  };
  return { clock, lease, reported, terms, requests, setCut, identity };
}

type Candidate = ReturnType<typeof candidate>;

async function pass(ms: number, ...candidates: Candidate[]): Promise<void> {
  for (let i = 0; i < ms; i += 250) {
    for (const { clock } of candidates) await clock.advance(250);
    const leading = candidates.filter(({ lease }) => (lease.term?.remainingMs() ?? 0) > 0);
    assert.ok(leading.length <= 1, `two lead: ${leading.map(({ identity }) => identity).join(", ")}`);
  }
}

function holder(server: FakeServer): string | undefined {
  const [object] = server.list(LEASES);
  return (object?.["spec"] as { holderIdentity?: string } | undefined)?.holderIdentity;
}

test("one of two is elected, renews, and stays", async () => {
  const server = new FakeServer();
  const [a, b] = [candidate(server, "a"), candidate(server, "b")];
  a.lease.start();
  await settle();
  b.lease.start();
  await pass(60_000, a, b);
  assert.deepEqual(a.reported, ["elected"]);
  assert.deepEqual(b.reported, []);
  assert.ok((a.lease.term?.remainingMs() ?? 0) > 9_000);
  await a.lease.stop();
  await b.lease.stop();
  assert.equal(a.clock.timers + b.clock.timers, 0);
});

test("a stopped holder hands over at once, after its work has ended", async () => {
  const server = new FakeServer();
  const [a, b] = [candidate(server, "a"), candidate(server, "b")];
  a.lease.start();
  await pass(1_000, a);
  b.lease.start();
  await pass(1_000, a, b);
  const term = a.terms[0]!;
  let finish = () => {};
  const stopping = a.lease.stop(() => new Promise((resolve) => (finish = resolve)));
  assert.equal(term.signal.aborted, true);
  assert.throws(() => term.check(), LeaseLost);
  await pass(30_000, a, b);
  assert.deepEqual(b.reported, [], "it is still renewed while the work drains");
  finish();
  await stopping;
  assert.equal(holder(server), undefined);
  await pass(750, a, b);
  assert.deepEqual(b.reported, ["elected"], "less than a second later the other one leads");
  await b.lease.stop();
});

test("a candidate looks often while another holds the lease, and no more often than a holder where it gets no answer", async () => {
  const server = new FakeServer();
  const [a, b] = [candidate(server, "a"), candidate(server, "b")];
  a.lease.start();
  await pass(1_000, a);
  b.lease.start();
  await pass(1_000, a, b);
  const asked = async (ms: number) => {
    const from = b.requests.length;
    await pass(ms, a, b);
    return b.requests.slice(from);
  };
  const looks = await asked(10_000);
  assert.ok(looks.length >= 20 && looks.length <= 40, `${looks.length} looks in ten seconds`);
  assert.ok(looks.every(({ method }) => method === "GET"));
  b.setCut(true);
  const tries = await asked(9_000);
  assert.ok(tries.length <= 7, `${tries.length} tries in nine seconds`);
  await a.lease.stop();
  await b.lease.stop();
});

test("a holder that is cut off stops before another begins", async () => {
  const server = new FakeServer();
  const [a, b] = [candidate(server, "a"), candidate(server, "b")];
  a.lease.start();
  await pass(2_000, a);
  b.lease.start();
  await pass(5_000, a, b);
  a.setCut(true);
  await pass(30_000, a, b);
  assert.deepEqual(a.reported, ["elected", "lost: the lease could not be renewed in time"]);
  assert.deepEqual(b.reported, ["elected"]);
  assert.equal(a.terms[0]?.signal.aborted, true);
  a.setCut(false);
  await pass(30_000, a, b);
  assert.equal(a.reported.length, 2, "and does not come back while the other holds it");
  await a.lease.stop();
  await b.lease.stop();
});

test("a holder that was frozen may do nothing when it wakes up, before any timer of its has run", async () => {
  const server = new FakeServer();
  const [a, b] = [candidate(server, "a"), candidate(server, "b")];
  a.lease.start();
  await pass(1_000, a);
  b.lease.start();
  await pass(1_000, a, b);
  await pass(25_000, b);
  assert.deepEqual(b.reported, ["elected"]);
  a.clock.freeze(25_000);
  assert.throws(() => a.terms[0]?.check(), LeaseLost);
  assert.equal(a.terms[0]?.remainingMs(), 0);
  await pass(5_000, a, b);
  assert.equal(a.reported.length, 2);
  await a.lease.stop();
  await b.lease.stop();
});

test("a clock that was set back does not hide that a holder was frozen", async () => {
  const server = new FakeServer();
  const a = candidate(server, "a");
  a.lease.start();
  await pass(1_000, a);
  a.clock.jump(-3_600_000);
  a.clock.freeze(13_000);
  assert.throws(() => a.terms[0]?.check(), LeaseLost);
  await a.lease.stop();
});

test("a machine that slept, its monotonic clock with it, is seen by the wall clock", async () => {
  const server = new FakeServer();
  const a = candidate(server, "a");
  a.lease.start();
  await pass(1_000, a);
  a.clock.jump(60_000);
  assert.throws(() => a.terms[0]?.check(), LeaseLost);
  await pass(3_000, a);
  a.terms[0]?.check(5_000);
  assert.deepEqual(a.reported, ["elected"], "and the next renewal makes it good again");
  await a.lease.stop();
});

test("wall clocks that differ by hours, and that are set back, decide nothing", async () => {
  const server = new FakeServer();
  const [a, b] = [candidate(server, "a"), candidate(server, "b")];
  b.clock.jump(5 * 3_600_000);
  a.lease.start();
  await pass(1_000, a);
  b.lease.start();
  await pass(30_000, a, b);
  assert.deepEqual(b.reported, []);
  a.clock.jump(-3_600_000);
  await pass(1_000, a, b);
  a.setCut(true);
  await pass(13_000, a, b);
  assert.equal(a.lease.term, undefined, "a clock that was set back does not make the term longer");
  await pass(15_000, a, b);
  assert.deepEqual(b.reported, ["elected"]);
  await a.lease.stop();
  await b.lease.stop();
});

test("a stolen lease is noticed at the next renewal", async () => {
  const server = new FakeServer();
  const a = candidate(server, "a");
  a.lease.start();
  await pass(1_000, a);
  server.put(LEASES, "leader", { spec: { holderIdentity: "thief", leaseDurationSeconds: 15 } });
  await pass(1_000, a);
  assert.deepEqual(a.reported, ["elected", "lost: thief holds the lease now"]);
  await pass(20_000, a);
  assert.equal(a.reported.at(-1), "elected", "and taken back when the thief does not renew");
  await a.lease.stop();
});

test("stopping does not take a lease from whoever holds it by then, nor take one for itself", async () => {
  const server = new FakeServer();
  const [a, b] = [candidate(server, "a"), candidate(server, "b")];
  a.lease.start();
  await pass(1_000, a);
  server.put(LEASES, "leader", { spec: { holderIdentity: "thief", leaseDurationSeconds: 15 } });
  await a.lease.stop();
  assert.equal(holder(server), "thief");

  b.lease.start();
  await pass(1_000, b);
  let finish = () => {};
  const stopping = b.lease.stop(() => new Promise((resolve) => (finish = resolve)));
  server.remove(LEASES, "leader");
  await pass(10_000, b);
  assert.deepEqual(b.reported, []);
  assert.equal(holder(server), undefined);
  finish();
  await stopping;
});

test("a deleted lease is made anew by its holder", async () => {
  const server = new FakeServer();
  const a = candidate(server, "a");
  a.lease.start();
  await pass(1_000, a);
  server.remove(LEASES, "leader");
  await pass(5_000, a);
  assert.equal(holder(server), "a");
  assert.deepEqual(a.reported, ["elected"]);
  await a.lease.stop();
});

test("a take-over whose answer was lost is noticed as our own", async () => {
  const server = new FakeServer();
  const a = candidate(server, "a");
  let first = true;
  server.afterwards = ({ method }) => {
    if (method !== "POST" || !first) return undefined;
    first = false;
    return cutOff;
  };
  a.lease.start();
  await pass(5_000, a);
  assert.deepEqual(a.reported, ["elected"]);
  await a.lease.stop();
});

test("renewals whose answers are lost, though they happened, do not make two leaders", async () => {
  const server = new FakeServer();
  const [a, b] = [candidate(server, "a"), candidate(server, "b")];
  a.lease.start();
  await pass(1_000, a);
  b.lease.start();
  server.afterwards = ({ method, body }) =>
    method === "PUT" && (body as { spec: { holderIdentity: string } }).spec.holderIdentity === "a"
      ? cutOff
      : undefined;
  await pass(40_000, a, b);
  assert.equal(a.reported[1], "lost: the lease could not be renewed in time");
  assert.equal(a.lease.term, undefined);
  server.afterwards = () => undefined;
  await pass(20_000, a, b);
  assert.equal([a, b].filter(({ lease }) => lease.term !== undefined).length, 1);
  await a.lease.stop();
  await b.lease.stop();
});

test("a check asks for the time that the effect needs", async () => {
  const server = new FakeServer();
  const a = candidate(server, "a");
  a.lease.start();
  await pass(100, a);
  const term = a.terms[0]!;
  term.check(5_000);
  assert.throws(() => term.check(60_000), /valid for another \d+ ms, and 60000 ms are needed/);
  await a.lease.stop();
});

test("calls for the lease go past our own limits and give up early", async () => {
  const server = new FakeServer();
  const a = candidate(server, "a");
  a.lease.start();
  await pass(1_000, a);
  let hung = 0;
  server.intercept = () => (hung++ < 2 ? "hang" : undefined);
  await pass(11_000, a);
  assert.deepEqual(a.reported, ["elected"], "two calls that hang do not cost the lease");
  await a.lease.stop();
});
