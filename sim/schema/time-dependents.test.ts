/** The same of the kinds that name a cluster: none that is accepted takes a pass of the cluster more than 50 ms. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { EtcdOperation } from "../../src/api/etcd-operation.ts";
import type { EtcdRole } from "../../src/api/etcd-role.ts";
import {
  etcdSnapshotScheduleSchema,
  type EtcdSnapshotSchedule,
} from "../../src/api/etcd-snapshot-schedule.ts";
import type { EtcdSnapshot } from "../../src/api/etcd-snapshot.ts";
import type { EtcdUser } from "../../src/api/etcd-user.ts";
import { resourceSchema, type SchemaNode } from "../../src/api/json-schema.ts";
import { API_VERSION } from "../../src/api/metadata.ts";
import { resourceParser } from "../../src/api/parse-resource.ts";
import { resources } from "../../src/api/resources.ts";
import { isByCertificate, ownSecretsOf } from "../../src/core/auth/objects.ts";
import { decide } from "../../src/core/decide.ts";
import type { Observation } from "../../src/core/observation.ts";
import { decideSnapshots } from "../../src/core/snapshots/decide.ts";
import { freshnessOf } from "../../src/core/snapshots/schedule.ts";
import { statusOf } from "../../src/core/status/status.ts";
import { edit } from "../../src/core/testing/cluster.ts";
import { worldOf } from "../../src/core/testing/snapshots.ts";
import { IN_PLACE } from "../../src/core/testing/status.ts";
import { schedulesFrom, snapshotsFrom } from "../../src/operator/observe/snapshot-facts.ts";
import { readRole, readUser } from "../../src/operator/records/auth-object.ts";
import { operationsFor } from "../../src/operator/records/operation-object.ts";
import { fixture } from "../../src/operator/testing/fixtures.ts";
import { observationOf } from "../../src/operator/testing/observation.ts";
import type { Json } from "../models/kube/object.ts";
import { DEPENDENTS, someOf, specWith } from "./dependents.ts";
import { fieldsOf } from "./fields.ts";
import { cpuMs, MOST_MS } from "./time.ts";

const running = observationOf(fixture("healthy"));
const DAY = 86_400_000;

function decideOn(change: Partial<Observation>): void {
  const observation = { ...running, ...change };
  statusOf(observation, decide(observation), undefined, IN_PLACE);
}

function withAuth(objects: { user?: EtcdUser; role?: EtcdRole }): void {
  const { cluster } = edit(running, { auth: { enabled: true, clientRoles: [] } });
  const byCertificate = isByCertificate(cluster.spec, undefined);
  const user = objects.user && readUser(objects.user);
  const role = objects.role && readRole(objects.role);
  const auth = {
    self: "operator",
    byCertificate,
    users: user?.ok ? [user.facts] : [],
    roles: role?.ok ? [role.facts] : [],
    passwords: {},
    ownSecrets: ownSecretsOf(cluster.name, byCertificate),
    canActAsRoot: true,
    etcd: { enabled: true, users: {}, roles: {}, passwords: {}, predicted: false },
  };
  decideOn({ cluster, auth });
}

/** What a pass of its cluster computes of an object, `now`. */
const PASSES: Readonly<Record<string, (object: unknown, now: number) => void>> = {
  EtcdOperation: (object) =>
    decideOn({ operations: operationsFor(running.cluster.uid, [object as EtcdOperation]) }),
  EtcdSnapshot: (object, now) => {
    const snapshots = snapshotsFrom({ snapshots: [object as EtcdSnapshot], jobs: [], pods: [] }, { now });
    decideSnapshots(worldOf(snapshots, { now }));
  },
  EtcdSnapshotSchedule: (object, now) => {
    const found = { schedules: [object as EtcdSnapshotSchedule], pods: [] };
    const schedules = schedulesFrom(found, now, () => undefined);
    decideSnapshots(worldOf([], { now, schedules }));
    for (const schedule of schedules) freshnessOf(schedule, [], now);
  },
  EtcdUser: (object) => withAuth({ user: object as EtcdUser }),
  EtcdRole: (object) => withAuth({ role: object as EtcdRole }),
};

const objectOf = (kind: string, spec: unknown, createdAt: number) => ({
  apiVersion: API_VERSION,
  kind,
  metadata: {
    name: "tried",
    namespace: "default",
    uid: "tried-uid",
    resourceVersion: "1",
    generation: 1,
    creationTimestamp: new Date(createdAt).toISOString().replace(".000Z", "Z"),
  },
  spec,
});

/** In milliseconds of the CPU. */
function costOf(kind: string, spec: Json, now: number, ageMs: number): number {
  const object = objectOf(kind, spec, now - ageMs);
  return cpuMs(() => PASSES[kind]?.(structuredClone(object), now));
}

for (const { kind, least } of DEPENDENTS)
  test(`every value that a field of an ${kind} accepts is observed and decided on in 50 ms`, () => {
    const resource = resources.find((one) => one.kind === kind);
    assert.ok(resource && PASSES[kind], kind);
    const parse = resourceParser(kind, resource.schema);
    const node: SchemaNode = resourceSchema(resource.schema).schema.properties?.["spec"] ?? {};
    const slow: string[] = [];
    let accepted = 0;
    for (const field of fieldsOf(node).filter(({ kind: shape }) => shape !== "object"))
      for (const { value } of someOf(field.node, 3)) {
        const spec = specWith(least(field.steps), field, value);
        if (parse(objectOf(kind, spec, 0)).ok) accepted++;
        const ms = costOf(kind, spec, Date.UTC(2026, 9, 26), 30 * DAY);
        if (ms > MOST_MS) slow.push(`${field.path}: ${JSON.stringify(value)?.slice(0, 80)} took ${ms} ms`);
      }
    assert.deepEqual(slow, []);
    assert.ok(accepted > 3, `${accepted} accepted`);
  });

test("a role with as many permissions, as long as they may be, is decided on in 50 ms", () => {
  const permissions = Array.from({ length: 64 }, (_, index) => {
    const key = "k".repeat(1_000) + String.fromCodePoint(97 + index);
    return { access: "Read", key, rangeEnd: `${key}z` };
  });
  const spec = { cluster: "demo", permissions };
  const found = readRole(objectOf("EtcdRole", spec, 0) as EtcdRole);
  assert.ok(found.ok, JSON.stringify(found));
  const ms = costOf("EtcdRole", spec, 0, 0);
  assert.ok(ms <= MOST_MS, `${ms} ms`);
});

test("every schedule is decided on in 50 ms, at any change of the clocks and however much was missed", () => {
  const parse = resourceParser("EtcdSnapshotSchedule", etcdSnapshotScheduleSchema);
  const MINUTES = ["*", "0-59/7", `${"*,".repeat(20)}*`, "59"];
  const REST = [
    "* * * *",
    "0,23 * * *",
    "1-3 * * *",
    "* 29 2 *",
    "* 29 2 */7",
    "3 31 1-12/2 *",
    "* */31 */12 1",
  ];
  // The last two change a day before and half an hour; the days are those of the changes.
  const PLACES = [
    ["UTC", "2026-10-25"],
    ["Europe/Berlin", "2026-03-29"],
    ["Europe/Berlin", "2026-10-25"],
    ["America/New_York", "2100-03-14"],
    ["Pacific/Apia", "2011-12-30"],
    ["Australia/Lord_Howe", "2026-04-05"],
  ] as const;
  const slow: string[] = [];
  let tried = 0;
  for (const minutes of MINUTES)
    for (const rest of REST)
      for (const [timeZone, day] of PLACES) {
        const schedule = `${minutes} ${rest}`;
        const spec = {
          cluster: "demo",
          schedule,
          timeZone,
          verify: { schedule },
          destination: { s3: { bucket: "backups" } },
        };
        assert.ok(parse(objectOf("EtcdSnapshotSchedule", spec, 0)).ok, schedule);
        for (const ageMs of [DAY, 30 * DAY, 40 * 365 * DAY]) {
          const ms = costOf("EtcdSnapshotSchedule", spec, Date.parse(day) + 1.5 * DAY, ageMs);
          tried++;
          if (ms > MOST_MS)
            slow.push(`${schedule} in ${timeZone} by ${day}, ${ageMs / DAY} days old: ${ms} ms`);
        }
      }
  assert.deepEqual(slow, []);
  assert.ok(tried > 400, `${tried} schedules`);
});
