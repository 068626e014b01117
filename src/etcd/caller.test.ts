import assert from "node:assert/strict";
import { test } from "node:test";
import { EtcdClient } from "./client.ts";
import {
  endpoints,
  FakeTransport,
  interrupted,
  ManualClock,
  notSent,
  refused,
  turn,
  type Script,
} from "./testing.ts";

function clientOf(script: Script, names = ["a", "b", "c"], credentials?: { user: string; password: string }) {
  const clock = new ManualClock();
  const transport = new FakeTransport(script);
  const client = new EtcdClient({
    transport,
    clock,
    endpoints: endpoints(...names),
    timeoutMs: 6_000,
    ...(credentials === undefined ? {} : { credentials }),
  });
  const asked = () => transport.sent.map(({ call, endpoint }) => `${call} ${endpoint}`);
  return { client, clock, transport, asked };
}

const leaderIs = (leader: string): Script => {
  const ids: Record<string, bigint> = { a: 1n, b: 2n, c: 3n };
  return ({ call, endpoint }) =>
    call === "Maintenance.Status"
      ? { header: { memberId: ids[endpoint] }, leader: ids[leader] }
      : endpoint === leader
        ? {}
        : refused("FAILED_PRECONDITION", "not leader");
};

test("a read goes on with the next member after any failure of one", async () => {
  const { client, asked } = clientOf(({ endpoint }) => (endpoint === "c" ? {} : interrupted()));
  await client.kv.get("k");
  assert.deepEqual(asked(), ["KV.Range a", "KV.Range b", "KV.Range c"]);
  await client.kv.get("k");
  assert.equal(asked().at(-1), "KV.Range c", "and stays with the one that answered");
});

test("a write that may have been applied is not sent again", async () => {
  const { client, asked } = clientOf(() => interrupted());
  await assert.rejects(client.kv.put("k", "v"), { kind: "unavailable", outcome: "unknown" });
  assert.deepEqual(asked(), ["KV.Put a"]);
});

test("a write that was never sent, or that a learner refused, goes to the next member", async () => {
  const { client, asked } = clientOf(({ endpoint }) =>
    endpoint === "a"
      ? notSent()
      : endpoint === "b"
        ? refused("UNAVAILABLE", "rpc not supported for learner")
        : {},
  );
  await client.kv.put("k", "v");
  assert.deepEqual(asked(), ["KV.Put a", "KV.Put b", "KV.Put c"]);
});

test("a change of members that one member refuses is asked of another the next time (R19)", async () => {
  const { client, asked } = clientOf(({ endpoint }) =>
    endpoint === "a" ? refused("UNAVAILABLE", "unhealthy cluster") : { member: { ID: 4n }, members: [] },
  );
  const add = () => client.cluster.memberAdd(["http://x:2380"]);
  await assert.rejects(add(), { kind: "unhealthy-cluster", retryable: true });
  await add();
  assert.deepEqual(asked(), ["Cluster.MemberAdd a", "Cluster.MemberAdd b"]);
});

test("a change of members that all refuse goes round, one member at a time", async () => {
  const { client, asked } = clientOf(() => refused("UNAVAILABLE", "unhealthy cluster"));
  for (let i = 0; i < 4; i++) await assert.rejects(client.cluster.memberAdd(["http://x:2380"]));
  assert.deepEqual(
    asked().map((call) => call.at(-1)),
    ["a", "b", "c", "a"],
  );
});

test("what is refused by what all members share is not asked of others", async () => {
  const { client, asked } = clientOf(() => refused("FAILED_PRECONDITION", "not enough started members"));
  await assert.rejects(client.cluster.memberAdd(["http://x:2380"]));
  assert.equal(asked().length, 1);
});

test("when every member fails, the last failure is reported", async () => {
  const { client } = clientOf(({ endpoint }) =>
    endpoint === "c" ? refused("UNAVAILABLE", "no leader") : notSent(),
  );
  await assert.rejects(client.kv.get("k"), { kind: "no-leader", endpoint: "c (http://c:2379)" });
});

test("a silent member does not use up the time of the others", async () => {
  const { client, clock, asked } = clientOf(({ endpoint }) => (endpoint === "a" ? "silence" : {}));
  const reading = client.kv.get("k");
  await clock.advance(1_999);
  assert.equal(asked().length, 1);
  await clock.advance(1);
  await reading;
  assert.deepEqual(asked(), ["KV.Range a", "KV.Range b"]);
});

test("a call ends at its deadline, as a deadline, and leaves no timer behind", async () => {
  const { client, clock } = clientOf(() => "silence", ["a"]);
  const writing = client.kv.put("k", "v", { timeoutMs: 300 });
  const rejected = assert.rejects(writing, {
    kind: "deadline",
    outcome: "unknown",
    said: "no answer within 300 ms",
  });
  await clock.advance(300);
  await rejected;
  assert.equal(clock.pending, 0);
});

test("the caller's own abort is a cancellation, not a deadline", async () => {
  const { client } = clientOf(() => "silence", ["a"]);
  const stop = new AbortController();
  const reading = client.kv.get("k", { signal: stop.signal });
  await turn();
  stop.abort();
  await assert.rejects(reading, { kind: "cancelled" });
});

test("a call that the server cancelled on its way down is asked of another member", async () => {
  const { client, asked } = clientOf(({ endpoint }) =>
    endpoint === "a" ? refused("CANCELLED", "context canceled") : {},
  );
  await client.kv.get("k");
  assert.deepEqual(asked(), ["KV.Range a", "KV.Range b"]);
});

test("learners are never asked for management calls (R17)", async () => {
  const { client, asked } = clientOf(() => ({}));
  client.setEndpoints([{ name: "a", url: "http://a:2379", learner: true }, ...endpoints("b")]);
  await client.cluster.memberList();
  assert.deepEqual(asked(), ["Cluster.MemberList b"]);
  client.setEndpoints([{ name: "a", url: "http://a:2379", learner: true }]);
  await assert.rejects(client.cluster.memberList(), { kind: "rpc-not-supported-for-learner" });
});

test("without any endpoint the failure says so", async () => {
  const { client } = clientOf(() => ({}), []);
  await assert.rejects(client.cluster.memberList(), { kind: "unavailable", said: "no endpoint is known" });
});

test("promotion goes to the leader, which is looked for once and remembered (R18)", async () => {
  const { client, asked } = clientOf(leaderIs("b"));
  await client.cluster.memberPromote(9n);
  await client.cluster.memberPromote(9n);
  assert.deepEqual(
    asked().filter((line) => line.startsWith("Cluster")),
    ["Cluster.MemberPromote b", "Cluster.MemberPromote b"],
  );
  assert.equal(asked().filter((line) => line.startsWith("Maintenance")).length, 3);
});

test("when the leader has moved, it is looked for again and asked once more (R20)", async () => {
  let leader = "b";
  const { client, asked } = clientOf((sent, options) => leaderIs(leader)(sent, options));
  await client.maintenance.moveLeader(3n);
  leader = "c";
  await client.maintenance.moveLeader(2n);
  assert.deepEqual(
    asked().filter((line) => line.includes("MoveLeader")),
    ["Maintenance.MoveLeader b", "Maintenance.MoveLeader b", "Maintenance.MoveLeader c"],
  );
});

test("a dead member does not delay finding the leader", async () => {
  const { client } = clientOf((sent, options) =>
    sent.endpoint === "a" ? "silence" : leaderIs("c")(sent, options),
  );
  assert.equal((await client.maintenance.leader()).name, "c");
});

test("without a leader the failure says what each member said", async () => {
  const { client } = clientOf(({ endpoint }) => (endpoint === "a" ? notSent() : { leader: 0n }));
  await assert.rejects(client.maintenance.leader(), (error: Error & { kind: string }) => {
    assert.equal(error.kind, "no-leader");
    return /none of 3 endpoints leads: .*ECONNREFUSED.*knows no leader/.test(error.message);
  });
});

test("with credentials a token is asked for once and sent with every call", async () => {
  const { client, transport } = clientOf(
    ({ call }) => (call === "Auth.Authenticate" ? { token: "t1" } : {}),
    ["a"],
    { user: "root", password: "x" },
  );
  await Promise.all([client.kv.get("k"), client.kv.get("l")]);
  assert.deepEqual(
    transport.sent.map(({ call, metadata }) => [call, metadata["token"]]),
    [
      ["Auth.Authenticate", undefined],
      ["KV.Range", "t1"],
      ["KV.Range", "t1"],
    ],
  );
});

test("a token that etcd refuses is renewed and the call made again, once", async () => {
  let tokens = 0;
  const { client, transport } = clientOf(
    ({ call, metadata }) => {
      if (call === "Auth.Authenticate") return { token: `t${++tokens}` };
      return metadata["token"] === "t2" ? {} : refused("UNAUTHENTICATED", "invalid auth token");
    },
    ["a"],
    { user: "root", password: "x" },
  );
  await client.kv.put("k", "v");
  assert.deepEqual(
    transport.sent.map(({ call }) => call),
    ["Auth.Authenticate", "KV.Put", "Auth.Authenticate", "KV.Put"],
  );
});

test("a member that refuses the tokens of the others is asked for its own, and both are kept", async () => {
  const { client, asked } = clientOf(
    ({ call, endpoint, metadata }) => {
      const signer = endpoint === "c" ? "new key" : "old key";
      if (call === "Auth.Authenticate") return { token: signer };
      return metadata["token"] === signer ? {} : refused("UNAUTHENTICATED", "invalid auth token");
    },
    ["a", "b", "c"],
    { user: "root", password: "x" },
  );
  const [a, , c] = endpoints("a", "b", "c");
  assert.ok(a && c);
  await client.maintenance.status(c);
  assert.deepEqual(asked().slice(-2), ["Auth.Authenticate c", "Maintenance.Status c"]);
  await client.maintenance.status(a);
  const logins = () => asked().filter((one) => one.startsWith("Auth.")).length;
  const before = logins();
  for (const endpoint of [a, c, a, c]) await client.maintenance.status(endpoint);
  assert.equal(logins(), before, "nobody logs in at every call");
});

test("before any endpoint is known, a client logs in at the one that it asks", async () => {
  const { client, asked } = clientOf(({ call }) => (call === "Auth.Authenticate" ? { token: "t" } : {}), [], {
    user: "root",
    password: "x",
  });
  const [a] = endpoints("a");
  assert.ok(a);
  await client.maintenance.status(a);
  assert.deepEqual(asked(), ["Auth.Authenticate a", "Maintenance.Status a"]);
});

test("when all members accept one token again, it is used for all", async () => {
  let isMixed = true;
  let issued = 0;
  const { client } = clientOf(
    ({ call, endpoint, metadata }) => {
      const signer = isMixed && endpoint === "c" ? "new" : "old";
      if (call === "Auth.Authenticate") return { token: `${signer} ${++issued}` };
      const isGood = metadata["token"]?.startsWith(signer);
      return isGood ? {} : refused("UNAUTHENTICATED", "invalid auth token");
    },
    ["a", "b", "c"],
    { user: "root", password: "x" },
  );
  const [a, , c] = endpoints("a", "b", "c");
  assert.ok(a && c);
  for (const endpoint of [a, c]) await client.maintenance.status(endpoint);
  isMixed = false;
  for (const endpoint of [a, c, a, c]) await client.maintenance.status(endpoint);
});

test("a cluster without authentication is used without a token, until it asks for one", async () => {
  let enabled = false;
  const { client } = clientOf(
    ({ call, metadata }) => {
      if (call === "Auth.Authenticate")
        return enabled ? { token: "t" } : refused("FAILED_PRECONDITION", "authentication is not enabled");
      return enabled && metadata["token"] !== "t" ? refused("INVALID_ARGUMENT", "user name is empty") : {};
    },
    ["a"],
    { user: "root", password: "x" },
  );
  await client.kv.get("k");
  enabled = true;
  await client.kv.get("k");
});

test("a wrong password is reported and not tried again", async () => {
  const { client, asked } = clientOf(
    () => refused("INVALID_ARGUMENT", "authentication failed, invalid user ID or password"),
    ["a", "b"],
    { user: "root", password: "x" },
  );
  await assert.rejects(client.kv.get("k"), { kind: "auth-failed" });
  assert.deepEqual(asked(), ["Auth.Authenticate a"]);
});
