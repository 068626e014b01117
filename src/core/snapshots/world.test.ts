import assert from "node:assert/strict";
import { test } from "node:test";
import type { AuthFacts } from "../auth/facts.ts";
import type { Observation } from "../observation.ts";
import { healthy } from "../testing/cluster.ts";
import { briefly, runningSnapshot, snapshotNamed } from "../testing/snapshots.ts";
import { viewOf } from "../view.ts";
import { decideSnapshots } from "./decide.ts";
import type { SnapshotState } from "./facts.ts";
import { snapshotWorld } from "./world.ts";

const cluster = healthy({ replicas: 3 });
type Spec = Observation["cluster"]["spec"];
type TLS = Partial<Spec["tls"]>;

function decided(tls: TLS, auth: { asked?: boolean; enabled?: boolean }, state: Partial<SnapshotState> = {}) {
  const { auth: _, ...rest } = cluster.cluster.spec;
  const asked = auth.asked === undefined ? {} : { auth: { enabled: auth.asked, clientRoles: [] } };
  const spec: Spec = { ...rest, ...asked, tls: { ...rest.tls, ...tls } };
  const facts: AuthFacts = {
    self: "quorate-operator",
    byCertificate: false,
    users: [],
    roles: [],
    passwords: {},
    ownSecrets: { root: "demo-root", operator: "demo-operator-auth" },
    canActAsRoot: false,
    ...(auth.enabled !== undefined && {
      etcd: { enabled: auth.enabled, users: {}, roles: {}, passwords: {}, predicted: false },
    }),
  };
  const view = viewOf({ ...cluster, cluster: { ...cluster.cluster, spec }, auth: facts });
  return briefly(decideSnapshots(snapshotWorld(view, { snapshots: [snapshotNamed("a")], ...state })));
}

const OPEN: TLS = { mode: "Disabled" };
const ANONYMOUS: TLS = { mode: "Managed", clientAuth: "None" };
const CERTIFIED: TLS = { mode: "Managed", clientAuth: "Required" };

test("with auth and without client certificates no snapshot is begun, and the reason is told", () => {
  for (const tls of [OPEN, ANONYMOUS]) {
    assert.deepEqual(decided(tls, { asked: true }), ["Pending/AuthNeedsCertificate"]);
    assert.deepEqual(decided(tls, { enabled: true }), ["Pending/AuthNeedsCertificate"], "by hand");
    assert.deepEqual(decided(tls, { asked: true, enabled: false }), ["Running/Started"], "not enabled yet");
    assert.deepEqual(decided(tls, {}), ["Running/Started"]);
  }
  assert.deepEqual(decided(CERTIFIED, { asked: true, enabled: true }), ["Running/Started"]);
});

test("what blocks every Job is told first, and one that has its Job is followed", () => {
  const blocked = { reason: "ImageUnknown", message: "which image?" } as const;
  assert.deepEqual(decided(OPEN, { asked: true }, { blocked }), ["Pending/ImageUnknown"]);
  const snapshots = [runningSnapshot("a", { is: "running", pod: "p" })];
  assert.deepEqual(decided(OPEN, { asked: true }, { snapshots }), ["Running/Started"]);
});

test("the process that takes one is told which life of the cluster its members are of", () => {
  const { token = "" } = cluster.cluster.marks.established ?? {};
  const world = snapshotWorld(viewOf(cluster), { snapshots: [runningSnapshot("a")] });
  assert.ok(world.cluster.is === "present");
  assert.deepEqual(world.cluster.life, { token, life: cluster.cluster.marks.life });
  const [effect] = decideSnapshots({
    ...world,
    snapshots: [{ ...runningSnapshot("a"), status: { phase: "Running", clusterUID: cluster.cluster.uid } }],
  }).effects;
  assert.ok(effect?.kind === "StartJob");
  assert.deepEqual(effect.life, world.cluster.life);
  const marks = { ...cluster.cluster.marks, life: cluster.cluster.marks.life + 1 };
  const restored = { ...cluster, cluster: { ...cluster.cluster, marks } };
  const next = snapshotWorld(viewOf(restored), { snapshots: [] }).cluster;
  assert.ok(next.is === "present");
  assert.equal(next.life, undefined, "the next life was not seen yet");
});
