/** The built-in client of `quorate etcdctl` on a real cluster with TLS. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { runBuiltIn } from "../../src/cli/etcdctl/run.ts";
import type { Reached } from "../../src/cli/reach/reached.ts";
import { collectingIo } from "../../src/cli/testing.ts";
import { TestCluster } from "../support/etcd-cluster.ts";
import { newestVersions } from "../support/etcd-versions.ts";

const version = newestVersions.at(-1) ?? "";
let cluster: TestCluster;
let reached: Reached;

before(async () => {
  cluster = await TestCluster.start({ version, members: 3, tls: true });
  const endpoints = cluster.members.map(({ name, endpoint }) => ({ ...endpoint, name }));
  reached = {
    name: "test",
    endpoints,
    credentials: cluster.tls,
    environment: () => Promise.resolve({}),
    close: () => Promise.resolve(),
  };
});

after(async () => await cluster?.[Symbol.asyncDispose]());

async function ran(...args: string[]) {
  const io = collectingIo();
  const code = await runBuiltIn(reached, args, io);
  return { code, out: io.out() };
}

test("keys are written, read by range and prefix, and deleted", async () => {
  assert.deepEqual(await ran("put", "app/a", "1"), { code: 0, out: "OK\n" });
  await ran("put", "app/b", "2");
  await ran("put", "other", "3");
  assert.equal((await ran("get", "app/a")).out, "app/a\n1\n");
  assert.equal((await ran("get", "app/", "--prefix", "--keys-only")).out, "app/a\napp/b\n");
  assert.equal((await ran("get", "app/a", "app/b")).out, "app/a\n1\n");
  assert.equal((await ran("get", "app/b", "--from-key", "--print-value-only")).out, "2\n3\n");
  assert.equal((await ran("get", "", "--prefix", "--count-only")).out, "3\n");
  assert.equal((await ran("get", "app/", "--prefix", "--limit", "1")).out, "app/a\n1\n");
  assert.equal((await ran("get", "none")).out, "");
  assert.equal((await ran("put", "app/a", "4", "--prev-kv")).out, "OK\napp/a\n1\n");
  const { kvs } = JSON.parse((await ran("get", "app/a", "-w", "json")).out) as { kvs: { value: string }[] };
  assert.equal(Buffer.from(kvs[0]?.value ?? "", "base64").toString(), "4");
  assert.equal((await ran("del", "app/", "--prefix")).out, "2\n");
  assert.equal((await ran("del", "", "--from-key")).out, "1\n");
});

test("members, status, health and alarms are listed", async () => {
  const members = (await ran("member", "list")).out.trim().split("\n");
  assert.equal(members.length, 3);
  for (const { name } of cluster.members)
    assert.ok(members.some((line) => line.includes(`, started, ${name}, `)));
  const status = (await ran("endpoint", "status", "-w", "table")).out;
  assert.match(status, /^ENDPOINT .*RAFT INDEX/);
  assert.equal(status.match(/ true /g)?.length, 1, "one leader");
  const health = await ran("endpoint", "health");
  assert.equal(health.code, 0);
  assert.equal(health.out.match(/, true, /g)?.length, 3);
  assert.deepEqual(await ran("alarm", "list"), { code: 0, out: "" });
});

test("a member that is down is told, with exit code 1, and the others still answer", async () => {
  const [down] = cluster.members;
  assert.ok(down);
  await down.running.kill();
  const health = await ran("endpoint", "health", "-w", "json");
  assert.equal(health.code, 1);
  const endpoints = JSON.parse(health.out) as { endpoint: string; health: boolean; error?: string }[];
  const one = endpoints.find(({ endpoint }) => endpoint === down.name);
  assert.equal(one?.health, false);
  assert.ok(one?.error);
  assert.deepEqual(await ran("put", "still", "works"), { code: 0, out: "OK\n" });
});

test("an error of etcd is one sentence", async () => {
  await assert.rejects(ran("get", "a", "--rev", "999999"), {
    name: "CommandError",
    message: /future revision/i,
  });
  await assert.rejects(ran("get", "a", "b", "--prefix"), { name: "UsageError" });
});
