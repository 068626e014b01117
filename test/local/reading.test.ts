/** The verbs that read, on a cluster of this machine: the same words and screens as on Kubernetes. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Home, type Up } from "../support/quorate.ts";
import { etcdOf } from "../support/etcd-cluster.ts";

let home: Home;
let up: Up;

before(async () => {
  await etcdOf("3.6.16");
  home = new Home();
  up = home.up("--version", "3.6.16");
  await up.settled();
});

after(async () => {
  await home[Symbol.asyncDispose]();
});

async function shown(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await home.run(...args);
  assert.equal(code, 0, stderr);
  return stdout;
}

test("status is the same screen as on Kubernetes", async () => {
  const text = await shown("status", "--local");
  assert.match(text, /^local\/etcd  \w+/);
  assert.match(text, /Voters +3 of 3 healthy, 1 more may fail/);
  assert.match(text, /Database +\[#-+\] .* of 2\.0 GiB/);
  assert.match(text, /etcd-1 +(?:Leader|Follower) +Healthy +\d+ +3\.6\.16 /);
  const { cluster } = JSON.parse(await shown("status", "--local", "-o", "json")) as {
    cluster: { metadata: { name: string } };
  };
  assert.equal(cluster.metadata.name, "etcd");
});

test("list, members, events and why", async () => {
  assert.match(await shown("list", "--local"), /etcd +3\.6\.16 +3\/3/);
  assert.equal((await shown("members", "--local")).trimEnd().split("\n").length, 4);
  assert.match(await shown("events", "--local"), /EtcdMember\/etcd-1/);
  assert.match(await shown("why", "--local"), /Nothing to do|In progress/);
});

test("logs of all members are one, in order of time", async () => {
  const lines = (await shown("logs", "--local", "--lines", "20", "-o", "json")).trimEnd().split("\n");
  const entries = lines.map((line) => JSON.parse(line) as { member: string; at: string });
  assert.deepEqual(new Set(entries.map(({ member }) => member)), new Set(["etcd-1", "etcd-2", "etcd-3"]));
  const times = entries.map(({ at }) => Date.parse(at));
  assert.deepEqual(
    times,
    times.toSorted((a, b) => a - b),
  );
  assert.match(
    await shown("logs", "--local", "-m", "etcd-2"),
    /^\d\d:\d\d:\d\d\.\d{3}  etcd-2  (?:INFO|WARN) /,
  );
});

test("plan shows what a change would risk", async () => {
  const text = await shown("plan", "--local", "--version", "3.6.17");
  assert.match(text, /stop workload etcd-\d +0 +elevated/);
});

test("wrong names are answered with the right ones", async () => {
  const cluster = await home.run("status", "ectd", "--local");
  assert.equal(cluster.code, 3);
  assert.match(cluster.stderr, /no cluster is named "ectd" on this machine; did you mean etcd\?/);
  const none = await home.run("status", "--name", "none");
  assert.equal(none.code, 3);
  assert.match(none.stderr, /there is no cluster in .*Start one with: quorate local up/);
  const both = await home.run("status", "--local", "-n", "prod");
  assert.equal(both.code, 2);
  assert.match(both.stderr, /use one of the two/);
});

test("without a controller the screen says so, and how to start one", async () => {
  up.signal("SIGTERM");
  await up.ended;
  assert.match(await shown("status", "--local"), /No controller is running.*quorate local up/);
});

test("every verb that is proven here was called with success", async () => {
  await Home.assertProven(import.meta.filename);
});
