import assert from "node:assert/strict";
import { test } from "node:test";
import type { EtcdMember } from "../../api/etcd-member.ts";
import { API_VERSION } from "../../api/metadata.ts";
import { decide } from "../../core/decide.ts";
import type { Observation } from "../../core/observation.ts";
import { predict } from "../../core/plan/predict.ts";
import { settle } from "../../core/plan/settle.ts";
import { templateFor, templateHash } from "../../core/template/template.ts";
import { edit, exited, healthy } from "../../core/testing/cluster.ts";
import { readCluster } from "./cluster-object.ts";
import { lastUnderstood, sizeNote } from "./last-understood.ts";
import { marksToAnnotations } from "./marks.ts";
import { newMember } from "./member-object.ts";
import { ANNOTATIONS } from "../names.ts";

const SPEC = { replicas: 3, options: { snapshotCount: 5000 }, pod: { labels: { team: "a" } } };
const world = healthy(SPEC);

function membersOf({ cluster, members }: Observation): EtcdMember[] {
  return members.map(({ record }) => newMember(cluster, record));
}

const members = membersOf(world);

/** The world as it is read with this spec in place of its own. */
function withSpec(spec: object, from = world, own = membersOf(from)): Observation {
  const { uid, name, namespace, marks } = from.cluster;
  const annotations = { ...marksToAnnotations(marks), [ANNOTATIONS.size]: sizeNote(from.cluster.spec) };
  const metadata = { uid, name, namespace, generation: 9, annotations };
  const read = readCluster({ apiVersion: API_VERSION, kind: "EtcdCluster", metadata, spec }, own);
  assert.ok(read.ok, JSON.stringify(read));
  return { ...from, cluster: read.facts };
}

const INVALID = {
  version: "3.7.3",
  replicas: 99,
  pod: { labels: { team: "b" } },
  repair: { memberLostAfter: "10m" },
};

test("a spec that is not understood gives way to what the members were made from, and to their size", () => {
  const { spec, invalid } = withSpec(INVALID).cluster;
  assert.match(invalid ?? "", /^spec\.replicas: replicas must be between 0 and 9/);
  const [record] = world.members.map((member) => member.record);
  assert.equal(templateHash(templateFor(spec, spec.version)), templateHash(record!.template));
  assert.deepEqual([spec.replicas, spec.learners, spec.version], [3, 0, "3.6.16"]);
  assert.equal(spec.repair.memberLostAfter, "10m", "what is right by itself, and shapes no member, counts");
});

test("what is wrong by itself is taken for unsaid, and then no volume is deleted", () => {
  const storage = { retention: { onScaleIn: "Burn" }, size: "none" };
  const { spec } = withSpec({
    ...INVALID,
    storage,
    repair: { memberLostAfter: "soon" },
    paused: true,
  }).cluster;
  assert.deepEqual(spec.storage.retention, { onDelete: "Retain", onScaleIn: "Retain" });
  assert.equal(spec.storage.size, world.cluster.spec.storage.size);
  assert.equal(spec.repair.memberLostAfter, world.cluster.spec.repair.memberLostAfter);
  assert.equal(spec.paused, true, "a pause is a pause");
});

test("nothing of it is applied: neither its size nor its version, and the status says why", () => {
  for (const spec of [INVALID, { version: "no version", replicas: 5 }, { version: 7 }, {}]) {
    const { act, holds, converged } = decide(withSpec(spec));
    assert.deepEqual(
      [act, converged, holds[0]?.reason],
      [undefined, false, "InvalidSpec"],
      JSON.stringify(spec),
    );
    assert.match(holds[0]?.message ?? "", /the spec is invalid \(spec\./);
  }
});

test("a broken member is replaced by one like its siblings, and the size stays", () => {
  let seen = exited(withSpec(INVALID), "demo-2", "data-missing");
  for (let passes = 0; passes < 200; passes++) {
    const { act, lookAgainAt } = decide(seen);
    seen = act ? predict(seen, act.action) : settle({ ...seen, now: lookAgainAt ?? seen.now + 1000 });
  }
  const records = seen.members.map(({ record }) => record);
  assert.deepEqual(
    records.map(({ name }) => name),
    ["demo-1", "demo-3", "demo-4"],
  );
  assert.equal(new Set(records.map(({ template }) => templateHash(template))).size, 1);
  assert.deepEqual(
    decide(seen).holds.map(({ reason }) => reason),
    ["InvalidSpec"],
  );
});

test("in the middle of a rollout nobody rolls on, and nobody rolls back who is well", () => {
  const template = templateFor(edit(world, { options: { snapshotCount: 7000 } }).cluster.spec, "3.6.16");
  const [first, ...others] = membersOf(world);
  const own = [{ ...first!, spec: { ...first!.spec, template } }, ...others];
  const mixed = {
    ...world,
    members: world.members.map((facts, index) =>
      index === 0 ? { ...facts, record: { ...facts.record, template } } : facts,
    ),
  };
  const read = withSpec(INVALID, mixed, own);
  assert.equal(read.cluster.spec.options.snapshotCount, 5000);
  const { act, heldBack } = decide(read);
  assert.ok(act === undefined || act.class !== "roll");
  assert.deepEqual(
    heldBack.filter((one) => one.class !== "roll" && one.class !== "shrink"),
    [],
  );
});

test("without a note the records tell the size; asleep they stay asleep; without a record there is nothing", () => {
  assert.equal(lastUnderstood({ spec: {} }, members)?.replicas, 3);
  const metadata = { annotations: { [ANNOTATIONS.size]: '{"replicas":99}' } };
  assert.equal(lastUnderstood({ metadata, spec: {} }, members)?.replicas, 3, "nonsense is no note");
  const asleep = members.map((member) => ({ ...member, spec: { ...member.spec, run: false } }));
  assert.equal(lastUnderstood({ spec: INVALID }, asleep)?.replicas, 0);
  assert.equal(lastUnderstood({ spec: INVALID }, []), undefined);
});
