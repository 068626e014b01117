import assert from "node:assert/strict";
import { test } from "node:test";
import type { MemberRecord } from "../../core/record.ts";
import { healthy } from "../../core/testing/cluster.ts";
import { erasePod } from "./erase-pod.ts";
import { selectorOf } from "./metadata.ts";

const { cluster, members } = healthy({ replicas: 1 });
const { record } = members[0]!;
const WISHES = {
  image: "quorate:1",
  node: "node-1",
  directory: `/disks/default/demo.${cluster.uid}/demo-1.${record.uid}`,
};
const container = (of: MemberRecord) => erasePod(cluster, of, WISHES).spec!.containers[0]!;

test("an adopted directory is deleted by the UIDs that it is named by, which are those of its former life", () => {
  const directory = "/disks/default/demo.c0/demo-1.m0";
  const { args = [] } = erasePod(cluster, record, { ...WISHES, directory }).spec!.containers[0]!;
  const after = (flag: string) => args[args.indexOf(flag) + 1];
  assert.deepEqual([after("--uid"), after("--cluster-uid")], ["m0", "c0"]);
  assert.equal(after("--member-id"), record.memberID, "what its log says has to fit all the same");
});

test("the Pod that deletes a directory gets those of its namespace on its node, and names the member's", () => {
  const { metadata, spec } = erasePod(cluster, record, WISHES);
  assert.equal(metadata?.name, `erase-${record.uid}`);
  assert.deepEqual([spec?.nodeName, spec?.automountServiceAccountToken], ["node-1", false]);
  assert.deepEqual(spec?.volumes, [
    { name: "namespace", hostPath: { path: "/disks/default", type: "DirectoryOrCreate" } },
  ]);
  assert.deepEqual(container(record).args, [
    "member",
    "erase",
    `/namespace/demo.${cluster.uid}/demo-1.${record.uid}`,
    "--uid",
    record.uid,
    "--cluster-uid",
    cluster.uid,
    "--cluster-id",
    cluster.marks.established!.clusterID,
    "--member-id",
    record.memberID,
    "--result-file",
    "/dev/termination-log",
  ]);
  const former = container({ ...record, token: "an earlier life", memberID: undefined } as MemberRecord);
  assert.ok(!former.args?.some((arg) => arg.startsWith("--cluster-id") || arg.startsWith("--member-id")));
});

test("it ends by itself, and no selector of the cluster means it", () => {
  const { metadata, spec } = erasePod(cluster, record, WISHES);
  assert.deepEqual([spec?.restartPolicy, spec?.activeDeadlineSeconds], ["OnFailure", 300]);
  const [owner] = metadata?.ownerReferences ?? [];
  assert.deepEqual(
    [owner?.uid, owner?.controller, owner?.blockOwnerDeletion],
    [record.uid, undefined, undefined],
  );
  const selected = Object.entries(selectorOf(cluster, "all"));
  assert.ok(selected.some(([key, value]) => metadata?.labels?.[key] !== value));
});

test("it deletes what another user wrote, and has no capability beside that", () => {
  const { template } = record;
  const other = { ...template, pod: { ...template.pod, securityContext: { runAsUser: 1000 } } };
  // Members may have run as another user before.
  for (const one of [record, { ...record, template: other }]) {
    assert.deepEqual(container(one).securityContext?.capabilities, { drop: ["ALL"], add: ["DAC_OVERRIDE"] });
  }
  assert.equal(erasePod(cluster, { ...record, template: other }, WISHES).spec?.securityContext?.runAsUser, 0);
});
