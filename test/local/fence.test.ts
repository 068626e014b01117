/** A member on one machine that a person fences: it votes on, `env` leaves it out, and another one leads. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { clientEnvironment } from "../../src/cli/local/report.ts";
import { etcdOf } from "../support/etcd-cluster.ts";
import { LocalCluster } from "../support/local-cluster.ts";
import { operations, subjectOf } from "../support/local-operations.ts";

const VERSION = "3.6.16";

let local: LocalCluster;

before(async () => {
  await etcdOf(VERSION);
  local = await LocalCluster.start({ version: VERSION, replicas: 3 });
  await local.settled();
});

after(async () => {
  await local?.[Symbol.asyncDispose]();
});

async function endpoints(): Promise<string[]> {
  const { ETCDCTL_ENDPOINTS = "" } = clientEnvironment(await operations.status(subjectOf(local)));
  return ETCDCTL_ENDPOINTS.split(",").filter((url) => url !== "");
}

test("a fenced leader hands over and is left out of the environment; unfencing brings it back", async () => {
  const leader = local.view().leader?.name ?? "";
  const starts = local.startsOf(leader);
  const { text } = await operations.fence(subjectOf(local), leader);
  assert.match(text, /keeps running and voting/);
  const view = await local.until(
    "another one leads",
    ({ leader: now }) => now !== undefined && now.name !== leader,
  );
  assert.equal(local.member(leader).healthy, true);
  assert.equal(local.startsOf(leader), starts, "it was not restarted");
  assert.ok(local.done().includes(`MoveLeader ${view.leader?.name}`));
  const url = local.member(leader).record.address.clientURL;
  assert.equal((await endpoints()).length, 2);
  assert.ok(!(await endpoints()).includes(url));
  await operations.unfence(subjectOf(local), leader);
  await local.until("it is not fenced", () => local.member(leader).fenced !== true);
  assert.ok((await endpoints()).includes(url));
});

test("a member that does not exist is named with those that do", async () => {
  await assert.rejects(
    operations.fence(subjectOf(local), "demo-9"),
    /the members are demo-1, demo-2, demo-3/,
  );
});
