/** A deleted cluster: everybody stops, then the records go. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { MemberFacts, Observation } from "../observation.ts";
import { change, healthy } from "../testing/cluster.ts";
import { says } from "../testing/says.ts";
import { viewOf } from "../view.ts";
import { deletion } from "./deletion.ts";

const three = healthy();
const NAMES = ["demo-1", "demo-2", "demo-3"];

test("a deletion stops everybody, waits for them, and then takes the records in order (I5)", () => {
  const world = { ...three, cluster: { ...three.cluster, deleting: true } };
  const set = (o: Observation, workload: MemberFacts["workload"], ...names: string[]) =>
    names.reduce((all, name) => change(all, name, { workload }), o);
  const absent = { state: "absent" } as const;
  const stopping = { state: "stopping", since: three.now } as const;
  assert.deepEqual(says(deletion, world), ["life: stop workload demo-1"]);
  assert.deepEqual(says(deletion, set(world, absent, "demo-1")), ["life: stop workload demo-2"]);
  assert.deepEqual(says(deletion, set(world, stopping, "demo-1")), ["life: stop workload demo-2"]);
  assert.deepEqual(says(deletion, set(world, stopping, "demo-1", "demo-2", "demo-3")), ["Stopping"]);
  assert.deepEqual(says(deletion, set(set(world, absent, ...NAMES), stopping, "demo-2")), ["Stopping"]);
  // A node that is gone never confirms: it is not waited for.
  const lost = { ...stopping, lostNode: "node-7" };
  assert.deepEqual(says(deletion, set(set(world, absent, ...NAMES), lost, "demo-2")), [
    "life: delete member demo-1",
  ]);
  // Where its data stays is said, if it was to be deleted.
  const where = "/data/demo-1 on node-1";
  const stays = { where, why: "no image" };
  const remains = { state: "pending", reason: "it stays", remains: stays } as const;
  const left = change(set(world, absent, ...NAMES), "demo-1", { volume: remains });
  const asked = (onDelete: "Delete" | "Retain"): Observation => {
    const retention = { onDelete, onScaleIn: "Delete" } as const;
    const { spec } = left.cluster;
    const storage = { ...spec.storage, retention };
    return { ...left, cluster: { ...left.cluster, spec: { ...spec, storage } } };
  };
  const others = NAMES.slice(1).reduce(
    (all, name) => change(all, name, { volume: { state: "absent" } }),
    asked("Delete"),
  );
  const [act] = deletion(viewOf(others));
  assert.deepEqual(act && "act" in act && [act.act.code, act.act.params], [
    "DataRemains",
    { member: "demo-1", ...stays },
  ]);
  assert.deepEqual(says(deletion, asked("Retain")), ["life: delete member demo-1"]);
  const fenced = { ...world, platform: { ...world.platform, fenced: true } };
  assert.deepEqual(says(deletion, fenced), []);
  assert.deepEqual(says(deletion, three), []);
  assert.deepEqual(says(deletion, { ...world, members: [] }), ["life: finish deletion"]);
});

test("directories on nodes are all asked for, then waited for, and left behind after five minutes", () => {
  const clearing = { since: three.now, where: "/data/demo-1 on node-1", why: "ErrImagePull" };
  const begun = { state: "pending", reason: "it is being deleted", clearing } as const;
  const world = (volume: MemberFacts["volume"], now: number): Observation => {
    const { spec } = three.cluster;
    const storage = { ...spec.storage, retention: { onDelete: "Delete", onScaleIn: "Delete" } as const };
    const cluster = { ...three.cluster, deleting: true, spec: { ...spec, storage } };
    const empty = NAMES.reduce<Observation>(
      (all, name) => change(all, name, { workload: { state: "absent" }, volume: { state: "absent" } }),
      { ...three, now, cluster },
    );
    return change(empty, "demo-1", { volume });
  };
  const { uid } = three.members[0]!.record;
  const asked = { ...begun, uid };
  const recorded = (o: Observation) =>
    change(o, "demo-1", ({ record }) => ({ record: { ...record, volumeUID: uid } }));
  assert.deepEqual(says(deletion, recorded(world(asked, three.now))), ["life: delete volume demo-1"]);
  assert.deepEqual(says(deletion, world(begun, three.now)), ["DataBeingDeleted for 300000 ms"]);
  const [act] = deletion(viewOf(world(begun, three.now + 300_000)));
  assert.deepEqual(act && "act" in act && [act.act.code, act.act.params], [
    "DataRemains",
    {
      member: "demo-1",
      where: "/data/demo-1 on node-1",
      why: "it could not be deleted within 5 min (ErrImagePull)",
    },
  ]);
  // Nor is it asked for again and again where the platform cannot even begin.
  assert.deepEqual(says(deletion, recorded(world(asked, three.now + 300_000))), [
    "life: delete member demo-1",
  ]);
});
