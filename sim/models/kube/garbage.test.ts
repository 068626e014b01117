import assert from "node:assert/strict";
import { test } from "node:test";
import { configMaps, type OwnerReference } from "../../../src/kube/resources.ts";
import { GarbageCollector } from "./garbage.ts";
import { kubeBench } from "./testing.ts";

const at = (name: string) => ({ name, namespace: "default" });

async function family() {
  const bench = kubeBench(2);
  const { server, scheduler, random, client, done } = bench;
  new GarbageCollector({ server, scheduler, random });
  const us = client("us");
  const make = async (
    name: string,
    owners: readonly Partial<OwnerReference>[] = [],
    finalizers: string[] = [],
  ) => {
    const ownerReferences = owners.map((owner) => ({
      apiVersion: "v1",
      kind: "ConfigMap",
      name: "",
      uid: "",
      ...owner,
    }));
    const made = await done(
      us.create(configMaps, { metadata: { ...at(name), ownerReferences, finalizers } }),
    );
    return { name, uid: made.metadata?.uid ?? "" };
  };
  const names = async () =>
    (await done(us.list(configMaps, { namespace: "default" }))).items.map(({ metadata }) => metadata?.name);
  return { ...bench, us, make, names };
}

test("what has lost its last owner goes, a little later; what has another owner stays", async () => {
  const { us, make, names, done, pass } = await family();
  const [first, second] = [await make("first"), await make("second")];
  await make("child", [first]);
  await make("shared", [first, second]);
  await done(us.delete(configMaps, at("first"), { uid: first.uid }));
  assert.deepEqual(await names(), ["child", "second", "shared"]);
  await pass(1_000);
  assert.deepEqual(await names(), ["second", "shared"]);
  const shared = await done(us.get(configMaps, at("shared")));
  assert.deepEqual(
    shared.metadata?.ownerReferences?.map(({ name }) => name),
    ["second"],
  );
});

test("an owner is the one with the UID: another object of its name is none", async () => {
  const { us, make, names, done, pass } = await family();
  const first = await make("owner");
  await done(us.delete(configMaps, at("owner"), { uid: first.uid }));
  await make("owner");
  await make("child", [first]);
  await pass(1_000);
  assert.deepEqual(await names(), ["owner"]);
});

test("in the foreground an owner waits for those that block it; orphans are left without it", async () => {
  const { us, make, names, done, pass } = await family();
  const owner = await make("owner");
  const child = await make("child", [{ ...owner, blockOwnerDeletion: true }], ["example.com/hold"]);
  const answer = await done(
    us.delete(configMaps, at("owner"), { uid: owner.uid, propagation: "Foreground" }),
  );
  assert.equal(answer, "deleting");
  await pass(1_000);
  assert.deepEqual(await names(), ["child", "owner"]);
  await done(us.patch(configMaps, at("child"), { metadata: { finalizers: null } }, { uid: child.uid }));
  await pass(1_000);
  assert.deepEqual(await names(), []);

  const other = await make("other");
  await make("orphan", [other]);
  await done(us.delete(configMaps, at("other"), { uid: other.uid, propagation: "Orphan" }));
  await pass(1_000);
  assert.deepEqual(await names(), ["orphan"]);
  assert.equal((await done(us.get(configMaps, at("orphan")))).metadata?.ownerReferences, undefined);
});
