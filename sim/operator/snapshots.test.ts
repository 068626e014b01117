/** EtcdSnapshots on the real operator, with a model of Jobs and of a store: faults of both, and deaths of the operator. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { EtcdSnapshot, EtcdSnapshotSpec } from "../../src/api/etcd-snapshot.ts";
import { API_VERSION } from "../../src/api/metadata.ts";
import { etcdSnapshots, NAME, NAMESPACE } from "./environment.ts";
import type { EffectPlan } from "./effects.ts";
import { staysQuiet, wrongWith } from "./judge.ts";
import { OperatorSimulation } from "./simulation.ts";
import type { SnapshotFault } from "./snapshot-pods.ts";

const SPEC = { replicas: 1, version: "3.6.16" };
const PATH = `/apis/${API_VERSION}/namespaces/${NAMESPACE}/etcdsnapshots`;

function snapshotsOf({ env }: OperatorSimulation): EtcdSnapshot[] {
  return env.server.list(etcdSnapshots) as unknown as EtcdSnapshot[];
}

function take(sim: OperatorSimulation, name: string, spec: Partial<EtcdSnapshotSpec> = {}): void {
  const metadata = { name, namespace: NAMESPACE };
  const body = {
    apiVersion: API_VERSION,
    kind: "EtcdSnapshot",
    metadata,
    spec: { cluster: NAME, destination: { s3: { bucket: "backups" } }, ...spec },
  };
  const { status, body: answer } = sim.user({ method: "POST", path: PATH, body });
  assert.equal(status, 201, JSON.stringify(answer));
}

function remove(sim: OperatorSimulation, name: string): void {
  assert.equal(sim.user({ method: "DELETE", path: `${PATH}/${name}` }).status, 200);
}

const told = (sim: OperatorSimulation) =>
  snapshotsOf(sim).map(({ metadata, status }) => `${metadata.name} ${status?.phase} ${status?.reason}`);

async function settled(effects?: EffectPlan): Promise<OperatorSimulation> {
  const sim = new OperatorSimulation(SPEC, { seed: 5, ...(effects && { effects }) });
  await sim.settle();
  return sim;
}

test("snapshots are taken one at a time, and the cluster rests again", async () => {
  const sim = await settled();
  for (const name of ["a", "b", "c"]) take(sim, name);
  await sim.settle();
  await sim.pass(20_000);
  assert.deepEqual(told(sim), ["a Succeeded Completed", "b Succeeded Completed", "c Succeeded Completed"]);
  assert.deepEqual([sim.env.snapshots.most, sim.env.snapshots.whole.length], [1, 3]);
  const [first] = snapshotsOf(sim);
  assert.equal(first?.status?.uri, `s3://backups/${sim.env.snapshots.whole[0]}`);
  assert.deepEqual(wrongWith(sim), []);
  await staysQuiet(sim);
});

test("a snapshot is taken while the cluster is paused", async () => {
  const sim = await settled();
  take(sim, "before");
  await sim.settle();
  await sim.pass(10_000);
  sim.edit({ paused: true });
  await sim.pass(5_000);
  take(sim, "paused");
  await sim.pass(20_000);
  assert.deepEqual(told(sim).at(-1), "paused Succeeded Completed");
});

const ENDS: Readonly<Record<string, { faults: SnapshotFault[]; end: string; afterMs: number }>> = {
  "a store that does not answer once": { faults: ["broken"], end: "Succeeded Completed", afterMs: 60_000 },
  "a store that never answers": {
    faults: Array<SnapshotFault>(9).fill("broken"),
    end: "Failed StoreUnreachable",
    afterMs: 200_000,
  },
  "a store that refuses": { faults: ["denied"], end: "Failed StoreDenied", afterMs: 30_000 },
  "a process that is killed half-way": { faults: ["half"], end: "Succeeded Completed", afterMs: 60_000 },
  "a process that ends without a word": { faults: ["silent"], end: "Succeeded Completed", afterMs: 90_000 },
  "a process that hangs": { faults: ["hang"], end: "Failed DeadlineExceeded", afterMs: 120_000 },
};

for (const [what, { faults, end, afterMs }] of Object.entries(ENDS))
  test(`${what}: ${end}, and never a second whole object`, async () => {
    const sim = await settled();
    sim.env.snapshots.faults.push(...faults);
    take(sim, "once", { activeDeadlineSeconds: what.includes("hangs") ? 60 : 3_600 });
    await sim.pass(afterMs);
    assert.deepEqual(told(sim), [`once ${end}`]);
    assert.equal(sim.env.snapshots.whole.length, end.startsWith("Succeeded") ? 1 : 0);
    assert.deepEqual(wrongWith(sim), []);
  });

test("how much of a snapshot was sent is in its status, and is written again only when that is a tenth more", async () => {
  const sim = await settled();
  sim.env.snapshots.faults.push("hang");
  take(sim, "once");
  await sim.pass(12_000);
  const [before] = snapshotsOf(sim);
  assert.match(before?.status?.message ?? "", /^Pod once-\S+ is taking the snapshot, 50 % sent\.$/);
  await sim.pass(30_000);
  const [after] = snapshotsOf(sim);
  assert.equal(after?.metadata.resourceVersion, before?.metadata.resourceVersion);
  assert.deepEqual(wrongWith(sim), []);
});

test("deletionPolicy Delete takes the object away first, also after the cluster and through refusals", async () => {
  const sim = await settled();
  take(sim, "kept");
  take(sim, "held", { deletionPolicy: "Delete" });
  await sim.pass(30_000);
  assert.equal(sim.env.snapshots.whole.length, 2);
  sim.deleteCluster();
  await sim.pass(60_000);
  assert.equal(sim.cluster, undefined);
  assert.equal(told(sim).length, 2);
  sim.env.snapshots.faults.push("denied");
  remove(sim, "held");
  remove(sim, "kept");
  await sim.pass(60_000);
  assert.deepEqual(told(sim), ["held Deleting DeleteFailed"]);
  await sim.pass(650_000);
  assert.deepEqual(told(sim), []);
  assert.deepEqual(sim.env.snapshots.whole.length, 1);
});

const verdictOf = (sim: OperatorSimulation) =>
  snapshotsOf(sim).map(({ metadata, status }) => `${metadata.name} ${status?.verification?.reason}`);

test("each snapshot is verified once, one at a time, by what is in the store", async () => {
  const sim = await settled();
  for (const name of ["a", "b"]) take(sim, name);
  take(sim, "plain", { verify: false });
  await sim.pass(60_000);
  assert.deepEqual(verdictOf(sim), ["a Verified", "b Verified", "plain undefined"]);
  const [first] = snapshotsOf(sim);
  assert.equal(first?.status?.rto, "12s");
  assert.ok(first.status.verifiedAt);
  assert.equal(sim.env.snapshots.verified.length, 2);
  assert.deepEqual(wrongWith(sim), []);
  await staysQuiet(sim);
});

test("a byte that is flipped in the store is found by the next verification, and BackedUp tells until it is gone", async () => {
  const sim = await settled();
  plan(sim, { schedule: "*/10 * * * *", verify: { schedule: "5-59/10 * * * *" } });
  const { snapshots } = sim.env;
  for (let waited = 0; snapshots.verified.length === 0 && waited < 30; waited++) await sim.pass(60_000);
  assert.equal(backedUp(sim), "True");
  const { length } = snapshots.whole;
  for (let waited = 0; snapshots.whole.length === length && waited < 15; waited++) await sim.pass(60_000);
  for (const name of snapshots.whole) snapshots.damaged.add(name);
  await sim.pass(8 * 60_000);
  const damaged = snapshotsOf(sim).filter(({ status }) => status?.reason === "Damaged");
  assert.equal(damaged.length, 1, told(sim).join());
  assert.equal(damaged[0]?.status?.phase, "Failed");
  const why = sim.cluster?.status?.conditions?.find(({ type }) => type === "BackedUp");
  assert.deepEqual([why?.status, why?.reason], ["False", "VerificationFailed"]);
  // The next ones are whole again.
  await sim.pass(12 * 60_000);
  assert.equal(backedUp(sim), "True");
});

test("retention keeps the last snapshot that was found right until a newer one is", async () => {
  const sim = await settled();
  const verify = { schedule: "5-59/10 * * * *" };
  plan(sim, { schedule: "*/10 * * * *", verify, retention: { keepLast: 1 } });
  const { snapshots } = sim.env;
  for (let waited = 0; snapshots.verified.length === 0 && waited < 30; waited++) await sim.pass(60_000);
  const [right = ""] = snapshots.verified;
  // Whatever is taken from now on is damaged in the store, before anybody looks.
  for (let waited = 0; waited < 35; waited++) {
    for (const name of snapshots.whole) if (name !== right) snapshots.damaged.add(name);
    await sim.pass(60_000);
    assert.ok(snapshots.whole.includes(right), `after ${waited} minutes: ${told(sim).join()}`);
  }
  assert.ok(snapshots.damaged.size >= 3);
  assert.equal(backedUp(sim), "False");
});

const UNVERIFIED: Readonly<Record<string, { faults: SnapshotFault[]; reason: string; afterMs: number }>> = {
  "a process that ends without a word": { faults: ["silent"], reason: "Verified", afterMs: 90_000 },
  "a process that fails once": { faults: ["broken"], reason: "Verified", afterMs: 60_000 },
  "a process that always fails": {
    faults: Array<SnapshotFault>(9).fill("broken"),
    reason: "JobFailed",
    afterMs: 200_000,
  },
  "a process that hangs": { faults: ["hang"], reason: "DeadlineExceeded", afterMs: 120_000 },
};

for (const [what, { faults, reason, afterMs }] of Object.entries(UNVERIFIED))
  test(`${what} in a verification: ${reason}, and the snapshot stays`, async () => {
    const sim = await settled();
    take(sim, "once", { activeDeadlineSeconds: what.includes("hangs") ? 60 : 3_600, verify: false });
    await sim.pass(15_000);
    sim.env.snapshots.faults.push(...faults);
    const annotations = { "etcd.quorate.dev/verify": "now" };
    const [path, contentType] = [`${PATH}/once`, "application/merge-patch+json"];
    const body = { metadata: { annotations } };
    assert.equal(sim.user({ method: "PATCH", path, body, contentType }).status, 200);
    await sim.pass(afterMs);
    assert.deepEqual(told(sim), ["once Succeeded Completed"]);
    const [{ status } = {}] = snapshotsOf(sim);
    assert.equal(status?.verification?.reason, reason);
    assert.equal(status?.verifiedAt !== undefined, reason === "Verified", "never without having been");
    assert.equal(sim.env.snapshots.whole.length, 1);
    assert.deepEqual(wrongWith(sim), []);
  });

const AFTER = ["crash-after"] as const;
const ANY = ["crash-before", "crash-after", "reply-lost"] as const;

test("the operator dies around each effect of a snapshot, its verification and its deletion, and each is done once", async () => {
  const play = async (effects?: EffectPlan) => {
    const sim = await settled(effects);
    take(sim, "held", { deletionPolicy: "Delete" });
    await sim.pass(40_000);
    const taken = [...told(sim), ...verdictOf(sim)];
    const { length } = sim.env.snapshots.whole;
    remove(sim, "held");
    await sim.pass(60_000);
    return { sim, ends: [...taken, String(length), ...told(sim), String(sim.env.snapshots.store.size)] };
  };
  const usual = await play();
  assert.deepEqual(usual.ends, ["held Succeeded Completed", "held Verified", "1", "0"]);
  const { names } = usual.sim.effects;
  const first = names.findIndex((name) => name.includes("etcdsnapshots"));
  assert.ok(first > 0 && names.length - first >= 10, names.slice(first).join("\n"));
  for (let number = first + 1; number <= names.length; number++)
    for (const fault of names[number - 1]?.startsWith("POST jobs") ? ANY : AFTER) {
      const { sim, ends } = await play(new Map([[number, fault]]));
      assert.deepEqual(
        ends,
        usual.ends,
        `${fault} at ${names[number - 1]}: ${sim.lines.slice(-5).join("\n")}`,
      );
      assert.equal(sim.env.snapshots.most, 1);
    }
});

const SCHEDULES = `/apis/${API_VERSION}/namespaces/${NAMESPACE}/etcdsnapshotschedules`;

function plan(sim: OperatorSimulation, spec: object): void {
  const metadata = { name: "often", namespace: NAMESPACE };
  const destination = { s3: { bucket: "backups" } };
  const body = {
    apiVersion: API_VERSION,
    kind: "EtcdSnapshotSchedule",
    metadata,
    spec: { cluster: NAME, schedule: "*/5 * * * *", destination, ...spec },
  };
  const { status, body: answer } = sim.user({ method: "POST", path: SCHEDULES, body });
  assert.equal(status, 201, JSON.stringify(answer));
}

const backedUp = ({ cluster }: OperatorSimulation) =>
  cluster?.status?.conditions?.find(({ type }) => type === "BackedUp")?.status;

test("a schedule takes snapshots in time and keeps what its retention says, and BackedUp tells", async () => {
  const sim = await settled();
  plan(sim, { retention: { keepLast: 2 } });
  take(sim, "by-hand");
  await sim.pass(2_000);
  assert.equal(backedUp(sim), "Unknown");
  await sim.pass(27 * 60_000);
  const names = told(sim);
  assert.equal(names.filter((one) => one.startsWith("often-")).length, 2, names.join("\n"));
  assert.ok(names.includes("by-hand Succeeded Completed"));
  assert.equal(sim.env.snapshots.whole.length, 3);
  assert.equal(backedUp(sim), "True");
  // The store refuses for a while: no snapshot in time, and none that is there goes.
  sim.env.snapshots.faults.push(...Array<SnapshotFault>(8).fill("denied"));
  await sim.pass(30 * 60_000);
  assert.equal(backedUp(sim), "False");
  assert.equal(sim.env.snapshots.whole.length, 3);
  await sim.pass(25 * 60_000);
  assert.equal(backedUp(sim), "True");
  sim.user({ method: "DELETE", path: `${SCHEDULES}/often` });
  await sim.pass(20 * 60_000);
  assert.equal(sim.env.snapshots.whole.length, 3);
  assert.equal(backedUp(sim), undefined);
});

test("an operator that dies over and over makes each snapshot of a schedule once", async () => {
  const sim = await settled();
  plan(sim, {});
  for (let deaths = 0; deaths < 12; deaths++) {
    await sim.pass(97_000 + 613 * deaths);
    for (const { life } of sim.seats) life.cut("killed");
  }
  await sim.pass(60_000);
  const names = snapshotsOf(sim).map(({ metadata }) => metadata.name);
  assert.ok(names.length >= 3, names.join());
  assert.equal(new Set(names).size, sim.env.snapshots.whole.length);
});

test("an upgrade of the minor version waits for a snapshot, which a dying operator makes once; a failure holds it", async () => {
  const play = async (faults: readonly SnapshotFault[], effects?: EffectPlan) => {
    const sim = await settled(effects);
    plan(sim, { schedule: "@yearly" });
    sim.env.snapshots.faults.push(...faults);
    await sim.pass(2_000);
    const from = sim.effects.names.length;
    sim.edit({ version: "3.7.3" });
    await sim.pass(90_000);
    const reason = sim.cluster?.status?.conditions?.find(({ type }) => type === "Reconciling")?.reason;
    const taken = told(sim).filter((one) => one.includes("-before-3-7-"));
    return { sim, from, reason, taken, version: sim.cluster?.status?.version?.current };
  };
  const usual = await play([]);
  assert.equal(usual.taken.length, 1, told(usual.sim).join());
  assert.match(usual.taken[0] ?? "", /Succeeded Completed$/);
  assert.match(usual.version ?? "", /^3\.7/);
  const made = usual.sim.effects.names.findIndex((name) => name.startsWith("POST etcdsnapshots"));
  assert.ok(made >= usual.from, usual.sim.effects.names.slice(usual.from).join());
  for (const fault of ANY) {
    const { taken, version } = await play([], new Map([[made + 1, fault]]));
    assert.deepEqual([taken.length, version], [1, usual.version], fault);
  }
  const held = await play(["denied"]);
  assert.match(held.version ?? "", /^3\.6/);
  assert.match(held.taken.join(), /Failed StoreDenied$/);
});

test("the snapshot of a point in time is built once, also when the cluster is gone and the operator dies", async () => {
  const pointInTime = { revision: 7, etcdVersion: "3.6.16" };
  const play = async (effects?: EffectPlan) => {
    const sim = await settled(effects);
    take(sim, "base", { verify: false });
    await sim.pass(15_000);
    sim.user({
      method: "DELETE",
      path: `/apis/${API_VERSION}/namespaces/${NAMESPACE}/etcdclusters/${NAME}`,
    });
    await sim.pass(60_000);
    const from = sim.effects.names.length;
    take(sim, "point", { verify: false, pointInTime });
    take(sim, "unknown", { verify: false, pointInTime: { revision: 7 } });
    // Its cluster might be created still.
    await sim.pass(11 * 60_000);
    return { sim, from, ends: [...told(sim), String(sim.env.snapshots.whole.length)] };
  };
  const usual = await play();
  const ends = [
    "base Succeeded Completed",
    "point Succeeded Completed",
    "unknown Rejected ClusterNotFound",
    "2",
  ];
  assert.deepEqual(usual.ends, ends);
  const { names } = usual.sim.effects;
  for (let number = usual.from + 1; number <= names.length; number++) {
    const { sim, ends: after } = await play(new Map([[number, "crash-after"]]));
    assert.deepEqual(after, ends, `${names[number - 1]}: ${sim.lines.slice(-5).join("\n")}`);
  }
});

test("a point that nothing leads to fails the snapshot with the reason", async () => {
  const sim = await settled();
  take(sim, "point", { pointInTime: { revision: 7 } });
  await sim.pass(30_000);
  assert.deepEqual(told(sim), ["point Failed PointUnreachable"]);
});
