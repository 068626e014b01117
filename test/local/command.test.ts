/** The verbs that change something, with a cluster on this machine: the same words as on Kubernetes. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { etcdOf } from "../support/etcd-cluster.ts";
import { Home } from "../support/quorate.ts";

const VERSION = "3.6.16";

let home: Home;

before(async () => {
  await etcdOf(VERSION);
  home = new Home();
  const up = home.up("--version", VERSION);
  await up.until("three members", (event) => event.readyReplicas === 3);
  await up.settled();
});

after(async () => {
  await home?.[Symbol.asyncDispose]();
});

async function done(line: string, says: RegExp): Promise<string> {
  const { code, stdout, stderr } = await home.run(...line.split(" "));
  assert.equal(code, 0, `${line}: ${stderr}`);
  assert.match(stdout, says);
  return stderr;
}

async function refused(line: string, wanted: number, says: RegExp): Promise<void> {
  const { code, stdout, stderr } = await home.run(...line.split(" "));
  assert.match(stderr, says);
  assert.equal(code, wanted, stderr);
  assert.equal(stdout, "");
}

test("a member is fenced and unfenced, and a wrong name is answered with the nearest", async () => {
  await refused("member fence etc-1 --local", 3, /did you mean etcd-1\?/);
  await done("member fence etcd-1 --local", /^etcd-1 is fenced; etcd-[23] leads/);
  await done("member unfence etcd-1 --local", /no longer fenced/);
});

test("a cluster is paused and resumed, hibernated and woken with the size of before", async () => {
  await refused("pause --local", 6, /add --yes/);
  await done("pause --local --yes", /etcd is paused\. Resume it with: quorate resume etcd --local/);
  await done("resume --local", /etcd is resumed/);
  await done("hibernate etcd --local --yes", /etcd is hibernated; its data is retained/);
  await done("wake --local", /etcd is awake with 3 voting members/);
});

test("a cluster is scaled with progress, and no version is taken that etcd cannot reach", async () => {
  const told = await done("scale 1 --local --yes", /etcd has 1 voting members?: no voter may fail/);
  assert.match(told, /^\d\d:\d\d:\d\d {2}/m);
  await refused("upgrade 3.4.45 --local --yes", 1, /etcd stays as it is: /);
});

test("operations run with their steps, and one that cannot is rejected with the reason", async () => {
  await done("scale 3 --local", /etcd has 3 voting members/);
  const told = await done("defrag --local --yes", /./);
  assert.match(told, /Defragmenting all voters of etcd \(operation etcd-defrag-[0-9a-f]{6}\)/);
  await done("leader move --local", /leads/);
  await refused("compact --revision 999999 --local --yes", 1, /was rejected, and nothing was changed/);
  await done("operation list --local", /Succeeded/);
});

test("every verb that is proven here was called with success", async () => {
  await Home.assertProven(import.meta.filename);
});
