import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { etcdMemberSchema, type EtcdMember } from "../../api/etcd-member.ts";
import { validator } from "../../api/validate.ts";
import type { NewMemberRecord } from "../../core/action.ts";
import { asked, healthy } from "../../core/testing/cluster.ts";
import { belongsTo, changedMember, isFenced, newMember, recordOf } from "./member-object.ts";
import { ANNOTATIONS, MEMBER_FINALIZER } from "../names.ts";
import { directoryUID, hostDirectory } from "../render/volumes.ts";

const world = healthy();
const { cluster } = world;
const records = world.members.map(({ record }) => record);

/** What the API server adds. */
function stored(object: EtcdMember, resourceVersion = "7"): EtcdMember {
  const metadata = {
    ...object.metadata,
    uid: "u-1",
    resourceVersion,
    creationTimestamp: "2026-01-01T00:00:00Z",
  };
  // Through JSON, as it travels.
  return JSON.parse(JSON.stringify({ ...object, metadata })) as EtcdMember;
}

function asNew({
  uid: _u,
  resourceVersion: _r,
  createdAt: _c,
  ...record
}: (typeof records)[number]): NewMemberRecord {
  return record;
}

describe("a record as an object", () => {
  test("of a member that gets the directory of a node back names that, and its spec says nothing of it", () => {
    const { cluster: onNodes } = asked({ storage: { medium: "HostPath", hostPath: "/data" } });
    const [first] = records;
    assert.ok(first);
    const storage = { ...first.template.storage, medium: "HostPath", hostPath: "/data" } as const;
    const host = { node: "node-a", path: "default/demo.5c7e/demo-1.0f4a" };
    const template = { ...first.template, storage };
    const { metadata, spec } = newMember(onNodes, { ...asNew({ ...first, template }), host });
    const { [ANNOTATIONS.node]: node, [ANNOTATIONS.directory]: directory } = metadata.annotations ?? {};
    assert.deepEqual([node, directory], ["node-a", `=${host.path}`]);
    assert.ok(!("host" in spec));
    const at = hostDirectory(onNodes, { uid: "another", template }, directory);
    assert.equal(at, "/data/default/demo.5c7e/demo-1.0f4a");
    assert.equal(directoryUID(at), "0f4a", "its volume has the UID of its former life");
  });

  test("comes back as it was, with what the API server adds", () => {
    for (const record of records) {
      const back = recordOf(stored(newMember(cluster, asNew(record))));
      const added = { uid: "u-1", resourceVersion: "7", createdAt: Date.parse("2026-01-01T00:00:00Z") };
      assert.deepEqual(back, JSON.parse(JSON.stringify({ ...record, ...added })));
    }
  });

  test("is valid, with every field of the record in the spec", () => {
    for (const record of records) {
      const result = validator(etcdMemberSchema).validate(stored(newMember(cluster, asNew(record))));
      assert.ok(result.ok, JSON.stringify(result));
    }
  });

  test("belongs to the cluster with this UID and to no other of its name", () => {
    const object = newMember(cluster, asNew(records[0]!));
    assert.equal(belongsTo(cluster.uid, object), true);
    assert.equal(belongsTo("another", object), false);
    // Its token says so too, should somebody take its owner away; another controller means that it was given away.
    const { ownerReferences = [], ...metadata } = object.metadata;
    assert.equal(belongsTo(cluster.uid, { ...object, metadata }), true);
    const given = ownerReferences.map((owner) => ({ ...owner, uid: "another" }));
    assert.equal(
      belongsTo(cluster.uid, { ...object, metadata: { ...metadata, ownerReferences: given } }),
      false,
    );
  });

  test("is held by our finalizer from the first moment on, and so is what it becomes (I5)", () => {
    const made = stored(newMember(cluster, asNew(records[0]!)));
    assert.deepEqual(made.metadata.finalizers, [MEMBER_FINALIZER]);
    assert.deepEqual(changedMember(made, cluster, "7", {}).metadata.finalizers, [MEMBER_FINALIZER]);
  });

  test("that was not read from an API server is refused", () => {
    assert.throws(() => recordOf(newMember(cluster, asNew(records[0]!))), /demo-1 has no uid/);
  });
});

describe("a change of a record", () => {
  const before = stored(newMember(cluster, asNew(records[0]!)));

  test("is written under the version that was read", () => {
    assert.equal(changedMember(before, cluster, "6", { run: false }).metadata.resourceVersion, "6");
  });

  test("replaces the template as a whole, so that nothing of the old one stays in it", () => {
    const { template } = before.spec;
    const old = { ...template, options: { ...template.options, extraArgs: { "max-wals": "9" } } };
    const after = changedMember({ ...before, spec: { ...before.spec, template: old } }, cluster, "7", {
      template,
    });
    assert.deepEqual(after.spec.template, template);
  });

  test("set to nothing takes the field away", () => {
    const retiring = { ...before, spec: { ...before.spec, retiring: { reason: "x" } } };
    const after = changedMember(retiring, cluster, "7", { retiring: undefined });
    assert.equal("retiring" in after.spec, false);
  });

  test("carries the cluster's latch onto the record", () => {
    const fresh = stored(newMember(asked().cluster, asNew(records[0]!)));
    assert.equal(JSON.parse(fresh.metadata.annotations?.[ANNOTATIONS.marks] ?? "").established, undefined);
    const after = changedMember(fresh, cluster, "7", { joined: true });
    assert.deepEqual(
      JSON.parse(after.metadata.annotations?.[ANNOTATIONS.marks] ?? "").established,
      cluster.marks.established,
    );
  });
});

test("a member is fenced by its annotation, whatever it says but false; who replaces it is not", () => {
  const [record] = records;
  assert.ok(record);
  const object = newMember(cluster, asNew(record));
  const annotated = (value: string): EtcdMember => ({
    ...object,
    metadata: {
      ...object.metadata,
      annotations: { ...object.metadata.annotations, [ANNOTATIONS.fence]: value },
    },
  });
  assert.equal(isFenced(object), false);
  assert.deepEqual(
    ["true", "", "disk is slow", "false", "False"].map((value) => isFenced(annotated(value))),
    [true, true, true, false, false],
  );
  const changed = changedMember(annotated("true"), cluster, "7", { run: false });
  assert.equal(isFenced(changed), true, "the operator's own writes keep it");
});
