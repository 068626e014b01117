/** What a snapshot brings into another directory, and what --force-new-cluster leaves of one, as real etcd was seen to do. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { forceNewCluster } from "./data-dir.ts";
import { Lab } from "./lab.ts";
import { restoredFrom, snapshotOf } from "./restored.ts";

const ALONE = { name: "a", peerURL: "http://a:2380", token: "another" };

test("a restored directory has the keys, their revision and the alarms, and is another cluster of one member", () => {
  const lab = new Lab();
  lab.found("abc");
  lab.keys.put(lab.at("a"), "k", 100);
  lab.keys.put(lab.at("a"), "k", 100);
  lab.keys.delete(lab.at("a"), "k");
  lab.calls.setAlarm(lab.leader(), "0", "NOSPACE", true);
  const { dir } = lab.leader();
  const restored = restoredFrom(ALONE, snapshotOf(dir));
  assert.equal(restored.state.revision, dir.state.revision);
  assert.deepEqual(restored.state.alarms, dir.state.alarms);
  assert.equal(restored.state.clusterVersion, undefined);
  assert.notEqual(restored.clusterID, dir.clusterID);
  assert.deepEqual([...restored.state.members.keys()], [restored.memberID]);
});

test("a raised revision is counted from 0 where nothing was ever written, and all below it is compacted", () => {
  const lab = new Lab();
  lab.found("a");
  const empty = restoredFrom(ALONE, snapshotOf(lab.at("a").dir), 1_000).state;
  assert.deepEqual([empty.revision, empty.compactRevision], [1_000, 1_000]);
  lab.keys.put(lab.at("a"), "k", 100);
  const raised = restoredFrom(ALONE, snapshotOf(lab.at("a").dir), 1_000).state;
  assert.deepEqual([raised.revision, raised.compactRevision], [1_002, 1_002]);
});

test("--force-new-cluster keeps both IDs, the keys and their revision, and removes all other members for ever", () => {
  const lab = new Lab();
  lab.found("abc");
  lab.keys.put(lab.at("a"), "k", 100);
  const { dir } = lab.at("b");
  const copy = dir.olderCopy(dir.log.length);
  forceNewCluster(copy);
  assert.deepEqual([copy.clusterID, copy.memberID], [dir.clusterID, dir.memberID]);
  assert.equal(copy.state.revision, dir.state.revision);
  assert.deepEqual([...copy.state.members.keys()], [dir.memberID]);
  assert.equal(copy.state.removed.size, 2);
});
