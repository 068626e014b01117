import assert from "node:assert/strict";
import { test } from "node:test";
import type { PersistentVolumeClaim } from "kubernetes-types/core/v1.d.ts";
import { healthy } from "../../core/testing/cluster.ts";
import type { KubeClient } from "../../kube/client.ts";
import { KubeError } from "../../kube/errors.ts";
import type { KubeObject, Resource } from "../../kube/resources.ts";
import { LiveReads } from "./live-reads.ts";
import { newMember } from "../records/member-object.ts";
import type { ClusterObjects } from "../observe/observe-objects.ts";
import type { EtcdMember } from "../../api/etcd-member.ts";

const { cluster, members, etcd } = healthy();
const records = members.map(({ record }): EtcdMember => {
  const { uid, resourceVersion, createdAt, ...rest } = record;
  const made = newMember(cluster, rest);
  const creationTimestamp = new Date(createdAt).toISOString();
  return { ...made, metadata: { ...made.metadata, uid, resourceVersion, creationTimestamp } };
});
const [first] = members;
const claim: PersistentVolumeClaim = {
  metadata: { name: "data-demo-1", namespace: "default", uid: first?.record.volumeUID ?? "" },
};
const objects: ClusterObjects = {
  cluster: { metadata: { uid: cluster.uid } },
  members: records.slice(0, 1),
  pods: [],
  claims: [],
};

function world(answer: (resource: Resource) => readonly KubeObject[]) {
  let now = 0;
  const asked: string[] = [];
  const list = async (resource: Resource, scope: { name?: string }) => {
    asked.push(`${resource.plural} ${scope.name ?? "*"}`);
    return await Promise.resolve({ items: answer(resource), resourceVersion: "1" });
  };
  const live = new LiveReads({ list } as unknown as KubeClient, { monotonic: () => now });
  return { live, asked, pass: (ms: number) => (now += ms) };
}

test("a volume that the cache lacks is asked for by name, not on every pass, and only then", async () => {
  const { live, asked, pass } = world(() => [claim]);
  assert.equal((await live.complete({ ...objects, claims: [claim] }, "default")).objects.claims.length, 1);
  assert.deepEqual(asked, []);
  for (let i = 0; i < 3; i++)
    assert.deepEqual((await live.complete(objects, "default")).objects.claims, [claim]);
  assert.deepEqual(asked, ["persistentvolumeclaims data-demo-1"]);
  assert.deepEqual(
    live.unseen.map(({ member }) => member),
    ["demo-1"],
  );
  pass(20_000);
  await live.complete(objects, "default");
  assert.equal(asked.length, 2);
});

test("gone is what the server says is gone; another one of its name is not it; an error says nothing", async () => {
  const another = { metadata: { ...claim.metadata, uid: "another" } };
  for (const items of [[], [another]]) {
    const { live } = world(() => items);
    const { objects: seen, unread } = await live.complete(objects, "default");
    assert.deepEqual([seen.claims, unread.size], [[], 0]);
  }
  const { live } = world(() => {
    throw new KubeError("Unavailable", "GET", "no");
  });
  assert.match((await live.complete(objects, "default")).unread.get("data-demo-1") ?? "", /no/);
});

test("a member of etcd's list has no record when the server has none either (I9)", async () => {
  const [entry] = etcd.list?.members ?? [];
  assert.ok(entry);
  const ask = (answer: () => readonly KubeObject[]) =>
    world(answer).live.isUnrecorded("default", cluster.uid, entry);
  assert.equal(await ask(() => records), false);
  assert.equal(await ask(() => records.slice(1)), true);
  const failing = ask(() => {
    throw new KubeError("Unavailable", "GET", "no");
  });
  assert.equal(await failing, false);
  const { live, pass } = world(() => records);
  await live.isUnrecorded("default", cluster.uid, entry);
  pass(60_000);
  await live.complete({ ...objects, claims: [claim] }, "default");
  assert.equal(live.size, 0, "an answer that has expired is forgotten");
});
