/** First boot from a snapshot, as the rules see it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { revisionFloor } from "../../api/restore-values.ts";
import { etcdConfig } from "../config/flags.ts";
import { decide } from "../decide.ts";
import type { Observation, WorkloadFacts } from "../observation.ts";
import { predict } from "../plan/predict.ts";
import { startHash } from "../template/template.ts";
import { NOW, asked, change, edit, healthy, run } from "../testing/cluster.ts";
import { restoreHash } from "../record.ts";

const S3 = { source: { s3: { bucket: "backups", key: "prod/demo.db" } } };
const FILE = { source: { file: { path: "/backups/demo.db" } } };
const restoring = (restore = S3 as object) => ({ bootstrap: { restore } }) as Parameters<typeof asked>[0];

/** The founder exists and may start. */
function permitted(world = asked(restoring())): Observation {
  let seen = world;
  for (let i = 0; i < 2; i++) {
    const { act } = decide(seen);
    assert.ok(act);
    seen = predict(seen, act.action);
  }
  const { list: _, ...etcd } = seen.etcd;
  const silent = { workload: { state: "absent" }, answer: { reachable: false, error: "" } } as const;
  return change({ ...seen, etcd }, "demo-1", silent);
}

function withWorkload(workload: (startedFrom: string) => WorkloadFacts, world = permitted()): Observation {
  return change(world, "demo-1", ({ record }) => ({ workload: workload(startHash(record)) }));
}

const failing = (
  restore: "not-found" | "unreachable" | "checksum" | "space" | "quota",
  world = permitted(),
) =>
  withWorkload(
    (startedFrom) => ({
      state: "exited",
      since: NOW,
      startedFrom,
      restarts: 1,
      cause: "restore-failed",
      detail: "no such thing",
      restore,
    }),
    world,
  );

test("one founder is restored, and the others join it", () => {
  const end = run(asked(restoring()));
  assert.deepEqual(
    end.members.map(({ record }) => [record.name, record.boot, record.restore !== undefined]),
    [
      ["demo-1", "New", true],
      ["demo-2", "Join", false],
      ["demo-3", "Join", false],
    ],
  );
  assert.equal(end.members[0]?.record.initialCluster.length, 1);
  assert.equal(end.cluster.marks.established?.restored, restoreHash(S3));
});

test("a founder that starts from a snapshot never begins a new cluster: without its data etcd does not start", () => {
  const record = permitted().members[0]?.record;
  assert.ok(record);
  const paths = { dataDir: "/data", serverPem: "s", peerPem: "p", clientCA: "c", peerCA: "c" };
  assert.equal(etcdConfig(record, { established: false, paths })["initial-cluster-state"], "existing");
});

test("what keeps it from being restored is said with the field that a person has to correct", () => {
  const expected = [
    ["not-found", /spec\.bootstrap\.restore\.source\.s3\.key/],
    ["checksum", /spec\.bootstrap\.restore\.checksum/],
    ["space", /spec\.storage\.size/],
    ["quota", /spec\.options\.quotaBackendBytes/],
  ] as const;
  for (const [fault, field] of expected) {
    const { act, holds } = decide(failing(fault));
    assert.equal(act, undefined);
    const hold = holds.find(({ code }) => code === "RestoreFailed");
    assert.match(hold?.message ?? "", field);
    assert.equal(hold?.needsPerson, true);
  }
});

test("a store that does not answer needs nobody: it is asked again", () => {
  const hold = decide(failing("unreachable")).holds.find(({ code }) => code === "RestoreRetried");
  assert.equal(hold?.needsPerson, false);
  assert.equal(hold?.reason, "Restoring");
});

test("how far a restore is, is no other wait than before", () => {
  const at = (reason: string) =>
    decide(withWorkload(() => ({ state: "waiting", reason, restoring: true, since: NOW }))).holds;
  assert.match(at("30 % read")[0]?.message ?? "", /restoring demo-1 from a snapshot: 30 % read/);
  assert.equal(at("30 % read")[0]?.reason, "Restoring");
});

test("a founder whose snapshot is larger than the quota gets the raised one, without another beginning", () => {
  const failed = change(failing("quota"), "demo-1", { unhealthySince: NOW - 3_600_000 });
  const raised = { options: { quotaBackendBytes: "16Gi" } } as Parameters<typeof edit>[1];
  const { act } = decide(edit(failed, raised));
  const { options } = (act?.action.kind === "UpdateMember" && act.action.change.template) || {};
  assert.equal(options?.quotaBackendBytes, "16Gi", act?.code);
});

test("until the cluster was seen, another recipe begins anew: new token, new names", () => {
  for (const how of [restoring(FILE), { bootstrap: undefined }]) {
    const world = edit(failing("not-found"), how as Parameters<typeof edit>[1]);
    const { act } = decide(world);
    assert.equal(act?.code, "RestoreEdited");
    const end = run(world);
    assert.ok(end.members.every(({ record }) => record.token.endsWith("-2")));
    assert.equal(end.cluster.marks.established?.restored, restoreHash(how?.bootstrap?.restore));
  }
});

test("so does a recipe that is added while an empty cluster has not been seen", () => {
  const { act } = decide(asked());
  assert.ok(act);
  const world = edit(predict(asked(), act.action), restoring() as Parameters<typeof edit>[1]);
  assert.equal(decide(world).act?.code, "RestoreEdited");
});

test("afterwards it is read no more: another recipe changes nothing and is said, its removal is nothing", () => {
  const world = healthy(restoring());
  assert.equal(decide(world).converged, true);
  const changed = decide(edit(world, restoring(FILE) as Parameters<typeof edit>[1]));
  assert.deepEqual(
    changed.holds.map(({ code }) => code),
    ["RestoreTooLate"],
  );
  assert.equal(changed.act, undefined);
  assert.equal(changed.converged, false);
  const added = decide(edit(healthy(), restoring() as Parameters<typeof edit>[1]));
  assert.deepEqual([added.act, added.holds[0]?.code], [undefined, "RestoreTooLate"]);
  assert.equal(decide(edit(world, { bootstrap: undefined })).converged, true);
});

test("where the platform cannot restore, nothing is begun", () => {
  const world = asked(restoring(FILE));
  const restoreRefused = { field: "spec.bootstrap.restore.source.file", message: "not here" };
  const { act, holds } = decide({ ...world, platform: { ...world.platform, restoreRefused } });
  assert.deepEqual([act, holds[0]?.code], [undefined, "RestoreRefused"]);
});

test("a restored founder that lost its volume before it was seen is restored again, in another life", () => {
  const world = change(permitted(), "demo-1", { volume: { state: "absent" } });
  assert.equal(decide(world).act?.code, "FounderLostVolume");
  const end = run(world);
  assert.equal(end.members[0]?.record.restore !== undefined, true);
  assert.ok(end.members.every(({ record }) => record.token.endsWith("-2")));
});

test("an EtcdSnapshot is settled in the record when the member is made, and its object going away changes nothing", () => {
  const world = asked(restoring({ snapshot: "nightly" }));
  const restoreFrom = { snapshot: "nightly", ...S3, checksum: "a".repeat(64), revision: 7 };
  const known = { ...world, platform: { ...world.platform, restoreFrom } };
  const { act } = decide(known);
  const raiseTo = revisionFloor(NOW);
  assert.deepEqual(act?.action.kind === "CreateMember" && act.action.record.restore, {
    ...restoreFrom,
    raiseTo,
    fitsQuota: true,
  });
  assert.ok(act);
  const { restoreFrom: _gone, ...platform } = known.platform;
  const begun = predict(known, act.action);
  assert.notEqual(decide({ ...begun, platform }).act?.code, "RestoreEdited");
  const end = run({ ...begun, platform });
  assert.equal(decide(end).converged, true);
});

test("without it nothing is begun, and it is asked for again", () => {
  const world = asked(restoring({ snapshot: "nightly" }));
  const restoreRefused = { field: "spec.bootstrap.restore.snapshot", message: "not yet" };
  const { act, lookAgainAt } = decide({ ...world, platform: { ...world.platform, restoreRefused } });
  assert.equal(act, undefined);
  assert.ok((lookAgainAt ?? 0) > NOW);
  assert.equal(decide(world).holds[0]?.code, "RestoreRefused");
});
