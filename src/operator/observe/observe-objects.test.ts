import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Decision } from "../../core/action.ts";
import { decide } from "../../core/decide.ts";
import type { MemberFacts, Observation } from "../../core/observation.ts";
import { predict } from "../../core/plan/predict.ts";
import { observeObjects, type ClusterObjects } from "./observe-objects.ts";
import { fixture, troubled, type Fixture } from "../testing/fixtures.ts";
import { observationOf } from "../testing/observation.ts";

const MINUTE = 60_000;

function member(observation: Observation, name: string): MemberFacts {
  const found = observation.members.find(({ record }) => record.name === name);
  assert.ok(found, `${name} is not seen`);
  return found;
}

/** What is done, in a few words. */
function step({ act }: Decision): string {
  if (!act) return "nothing";
  const { action } = act;
  const purpose = "purpose" in action ? ` ${action.purpose}` : "";
  return `${action.kind}${"member" in action ? ` ${action.member}` : ""}${purpose}`;
}

const reasons = (decision: Decision) => decision.holds.map((hold) => hold.reason);
const words = (decision: Decision) => decision.holds.map((hold) => hold.message).join("\n");

function changed(base: Fixture, how: (objects: ClusterObjects) => Partial<ClusterObjects>): Fixture {
  return { ...base, objects: { ...base.objects, ...how(base.objects) } };
}

describe("three healthy members", () => {
  const observation = observationOf(fixture("healthy"));

  test("are seen with their volumes, their Pods and what these were started from", () => {
    assert.deepEqual(
      observation.members.map(({ record }) => record.name),
      ["demo-1", "demo-2", "demo-3"],
    );
    for (const { record, volume, workload, deleting } of observation.members) {
      assert.deepEqual(volume, { state: "ready", uid: record.volumeUID });
      assert.ok(workload.state === "running" && workload.startedFrom !== "" && workload.restarts === 0);
      assert.equal(deleting, false);
    }
  });

  test("are a converged cluster", () => {
    const decision = decide(observation);
    assert.equal(step(decision), "nothing");
    assert.equal(decision.converged, true);
  });

  test("the next names and addresses follow from the highest ordinal", () => {
    const [offer] = observation.platform.offers;
    assert.equal(offer?.ordinal, 4);
    assert.equal(offer?.address.peerURL, "http://demo-4-peer.default.svc:2380");
    const grown = { ...observation.cluster, spec: { ...observation.cluster.spec, replicas: 5 } };
    assert.equal(step(decide({ ...observation, cluster: grown })), "CreateMember demo-4");
  });

  test("an upgrade begins with one record, and then its Pod is the one that is out of date", () => {
    const cluster = { ...observation.cluster, spec: { ...observation.cluster.spec, version: "3.7.3" } };
    const first = decide({ ...observation, cluster });
    assert.match(step(first), /^UpdateMember demo-\d roll$/);
    assert.ok(first.act);
    const second = decide(predict({ ...observation, cluster }, first.act.action));
    assert.match(step(second), /^(StopWorkload|MoveLeader) demo-\d$/);
  });
});

describe("a first boot", () => {
  const base = fixture("first-boot");

  test("a claim that waits for its Pod is a volume: its member is permitted to start", () => {
    assert.equal(step(decide(observationOf(base))), "UpdateMember demo-1 permit-start");
  });

  test("a claim of a class that binds at once is waited for", () => {
    const immediate = changed(base, ({ storageClasses }) => ({
      storageClasses: storageClasses?.map((one) => ({ ...one, volumeBindingMode: "Immediate" })),
    }));
    const observation = observationOf(immediate);
    assert.equal(member(observation, "demo-1").volume.state, "pending");
    assert.deepEqual(reasons(decide(observation)), ["VolumePending"]);
  });

  test("founders that are planned but have no record yet are offered the planned addresses", () => {
    const crashed = changed(base, ({ members }) => ({
      members: members.filter(({ metadata }) => metadata.name === "demo-1"),
      claims: [],
    }));
    assert.equal(step(decide(observationOf(crashed))), "CreateMember demo-2");
  });

  test("H2: a claim that was exchanged after the permit ends the attempt", () => {
    const permitted = changed(base, ({ members }) => ({
      members: members.map((one) => ({ ...one, spec: { ...one.spec, volumeUID: "another" } })),
    }));
    assert.equal(step(decide(observationOf(permitted))), "MarkCluster new-life");
  });
});

describe("one Pod in CrashLoopBackOff", () => {
  const base = troubled("crash-loop");

  test("is an exit with its cause, in etcd's words, and with the number of restarts", () => {
    const { workload } = member(observationOf(base), "demo-2");
    assert.ok(workload.state === "exited");
    assert.equal(workload.cause, "bad-configuration");
    assert.match(workload.detail, /failed to verify flags.*election-timeout/);
    assert.ok(workload.restarts >= 2);
  });

  test("holds what needs every voter, with the words for a person, and is replaced when it stays so", () => {
    const young = decide(observationOf(base));
    assert.equal(step(young), "nothing");
    assert.ok(reasons(young).includes("MemberUnhealthy"));
    assert.match(words(young), /demo-2 is down \(failed to verify flags/);
    assert.equal(step(decide(observationOf(base, 5 * MINUTE))), "UpdateMember demo-2 leave");
  });

  test("is given back what its siblings run, where its template is another one", () => {
    const rolled = changed(base, ({ cluster, members }) => {
      const options = { heartbeatInterval: "200ms", electionTimeout: "2s" };
      return {
        cluster: withSpec(cluster, { options: { ...specOf(cluster)["options"]!, ...options } }),
        members: members.map((one) =>
          one.metadata.name === "demo-2"
            ? {
                ...one,
                spec: {
                  ...one.spec,
                  template: { ...one.spec.template, options: { ...one.spec.template.options, ...options } },
                },
              }
            : one,
        ),
      };
    });
    assert.equal(step(decide(observationOf(rolled, MINUTE))), "MarkCluster target-failed");
  });
});

test("one Pod whose image does not come is waiting for it", () => {
  const base = troubled("image-missing");
  const { workload } = member(observationOf(base), "demo-2");
  assert.ok(workload.state === "waiting");
  assert.match(workload.reason, /^ImagePullBackOff: /);
  const decision = decide(observationOf(base));
  assert.match(words(decision), /demo-2 is down \(ImagePullBackOff/);
  assert.equal(step(decision), "nothing");
});

test("one Pod that fits on no node is waiting, in the scheduler's words", () => {
  const base = troubled("unschedulable");
  const { workload, volume } = member(observationOf(base), "demo-2");
  assert.ok(workload.state === "waiting");
  assert.match(workload.reason, /^Unschedulable: 0\/3 nodes are available/);
  assert.equal(workload.unschedulable, true);
  assert.equal(volume.state, "ready");
  const decision = decide(observationOf(base));
  assert.match(words(decision), /demo-2 is down \(Unschedulable: 0\/3 nodes/);
  assert.equal(step(decide(observationOf(base, 5 * MINUTE))), "UpdateMember demo-2 leave");
});

test("H3: one emptied volume: the data is missing, and the member is replaced without waiting", () => {
  const seen = troubled("volume-emptied");
  const base = { ...seen, now: seen.now + 5_000 };
  const { workload } = member(observationOf(base), "demo-2");
  assert.ok(workload.state === "exited");
  assert.equal(workload.cause, "data-missing");
  assert.equal(step(decide(observationOf(base))), "UpdateMember demo-2 leave");
});

describe("one claim whose PersistentVolume is gone", () => {
  const base = troubled("claim-lost");

  test("is a volume that exists and cannot be reached", () => {
    const { volume, workload } = member(observationOf(base), "demo-2");
    assert.ok(volume.state === "unreachable");
    assert.match(volume.reason, /^the PersistentVolume pvc-\S+ no longer exists$/);
    assert.equal(workload.state, "absent");
  });

  test("its member is waited for, and replaced when it stays so", () => {
    assert.ok(reasons(decide(observationOf(base))).includes("StorageLost"));
    assert.equal(step(decide(observationOf(base, 5 * MINUTE))), "UpdateMember demo-2 leave");
  });

  test("a claim that is deleted altogether is a lost volume at once", () => {
    const gone = changed(base, ({ claims }) => ({
      claims: claims.filter(({ metadata }) => metadata?.name !== "data-demo-2"),
    }));
    assert.equal(step(decide(observationOf(gone))), "UpdateMember demo-2 leave");
  });
});

describe("one Pod that hangs on a lost node", () => {
  const base = troubled("node-lost");

  test("is stopping, and names the node that will never confirm it", () => {
    const { workload } = member(observationOf(base), "demo-3");
    assert.ok(workload.state === "stopping");
    assert.match(workload.lostNode ?? "", /^node-\d$/);
    assert.match(words(decide(observationOf(base))), /demo-3 is down \(its node node-\d does not report\)/);
  });

  test("it is replaced without waiting for the node", () => {
    let world = observationOf(base, 5 * MINUTE);
    const steps: string[] = [];
    for (let i = 0; i < 12; i++) {
      const decision = decide(world);
      if (!decision.act) break;
      steps.push(step(decision));
      world = predict(world, decision.act.action);
    }
    assert.deepEqual(steps.slice(0, 5), [
      "UpdateMember demo-3 leave",
      "RemoveFromEtcd demo-3",
      "DeleteVolume demo-3",
      "MarkCluster remember-member",
      "DeleteMember demo-3",
    ]);
    assert.equal(steps[5], "CreateMember demo-4");
  });

  test("within its grace period, or on a node that reports, it is simply stopping", () => {
    const early = { ...base, now: base.now - MINUTE };
    const reporting = changed(base, ({ nodes }) => ({
      nodes: nodes?.map((node) => ({
        ...node,
        status: { ...node.status, conditions: [{ type: "Ready", status: "False" }] },
      })),
    }));
    const unreadable = changed(base, () => ({ nodes: undefined }));
    for (const other of [early, reporting, unreadable]) {
      const { workload } = member(observationOf(other), "demo-3");
      assert.ok(workload.state === "stopping");
      assert.equal(workload.lostNode, undefined);
    }
  });

  test("a node that was deleted is lost too", () => {
    const deleted = changed(base, () => ({ nodes: [] }));
    const { workload } = member(observationOf(deleted), "demo-3");
    assert.ok(workload.state === "stopping" && workload.lostNode !== undefined);
  });
});

describe("a record that somebody deletes", () => {
  test("is a member to replace: healthy as it is, a newcomer comes first (H6)", () => {
    const observation = observationOf(troubled("record-deleted"));
    assert.equal(member(observation, "demo-1").deleting, true);
    const decision = decide(observation);
    assert.equal(decision.converged, false);
    assert.match(step(decision), /^(UpdateMember demo-1 retire|CreateMember demo-4)$/);
  });

  test("is gone as soon as our finalizer is, and its name stays taken", () => {
    const { now, objects } = troubled("record-deleted");
    const members = objects.members.map((one) => ({
      ...one,
      metadata: {
        ...one.metadata,
        ...(one.metadata.deletionTimestamp && { finalizers: ["foregroundDeletion"] }),
      },
    }));
    const observed = observeObjects({ ...objects, members }, { now, fenced: false });
    assert.ok(observed.ok);
    assert.deepEqual(
      observed.state.members.map(({ record }) => record.name),
      ["demo-2", "demo-3"],
    );
    assert.equal(observed.state.platform.highestLeftover, 3);
  });
});

describe("a member in memory", () => {
  const base = fixture("memory");

  test("H4: its Pod is its volume", () => {
    const [facts] = observationOf(base).members;
    const uid = base.objects.pods[0]?.metadata?.uid;
    assert.ok(uid);
    assert.deepEqual(facts?.volume, { state: "ready", uid });
    assert.equal(facts?.record.volumeUID, uid);
    assert.equal(decide(observationOf(base)).converged, true);
  });

  test("without its Pod the data is gone, and that is reported instead of starting over (I3)", () => {
    const decision = decide(observationOf(changed(base, () => ({ pods: [] }))));
    assert.equal(step(decision), "nothing");
    assert.ok(reasons(decision).includes("DataGone"), words(decision));
  });
});

describe("what only bears our names (I9)", () => {
  const base = fixture("healthy");

  test("a Pod and a claim of somebody else are reported, and keep only their own members from being started", () => {
    const strange = changed(base, ({ pods, claims }) => ({
      pods: pods.map((pod) =>
        pod.metadata?.name === "demo-1"
          ? { ...pod, metadata: { ...pod.metadata, ownerReferences: [] } }
          : pod,
      ),
      claims: claims.map((claim) =>
        claim.metadata?.name === "data-demo-2"
          ? { ...claim, metadata: { ...claim.metadata, labels: {}, uid: "another" } }
          : claim,
      ),
    }));
    const observation = observationOf(strange);
    assert.deepEqual(observation.platform.clashes, [
      { object: "Pod default/demo-1", concerns: "member", member: "demo-1" },
      { object: "PersistentVolumeClaim default/data-demo-2", concerns: "member", member: "demo-2" },
    ]);
    const [first, second] = observation.members;
    assert.ok(first?.workload.state === "absent" && first.workload.notMade?.reason === "NameClash");
    assert.equal(second?.volume.state, "pending", "and not gone: nobody is removed for it");
    const decision = decide(observation);
    assert.equal(step(decision), "nothing");
    assert.ok(
      reasons(decision).every((reason) => reason === "NameClash"),
      words(decision),
    );
  });

  test("a claim that was stripped of its labels is still the volume of the member that started on it", () => {
    const stripped = changed(base, ({ claims }) => ({
      claims: claims.map((claim) => ({ ...claim, metadata: { ...claim.metadata, labels: {} } })),
    }));
    const observation = observationOf(stripped);
    assert.deepEqual(observation.platform.clashes, []);
    assert.ok(observation.members.every(({ volume }) => volume.state === "ready"));
  });

  test("records of a former cluster of the same name are not ours, and their names are not used again", () => {
    const reborn = changed(base, ({ cluster }) => ({
      cluster: {
        ...cluster,
        metadata: { ...cluster.metadata, uid: "11111111-2222", annotations: {} },
      } as never,
    }));
    const observation = observationOf(reborn);
    assert.deepEqual(observation.members, []);
    assert.equal(observation.platform.highestLeftover, 3);
    assert.equal(step(decide(observation)), "CreateMember demo-4");
  });
});

test("an EtcdCluster that cannot be understood is an error with the field, where no member is to be looked after", () => {
  const { objects, now } = fixture("healthy");
  const broken = { ...objects, cluster: withSpec(objects.cluster, { replicas: "three" }) };
  const observed = observeObjects({ ...broken, members: [] }, { now, fenced: false });
  assert.ok(!observed.ok);
  assert.equal(observed.errors[0]?.path, "spec.replicas");
  const lookedAfter = observeObjects(broken, { now, fenced: false });
  assert.ok(lookedAfter.ok);
  const { invalid, spec } = lookedAfter.state.cluster;
  assert.match(invalid ?? "", /^spec\.replicas: /);
  assert.equal(spec.replicas, 3);
});

test("a controller that may not be the only one is reported so", () => {
  const { objects, now } = fixture("healthy");
  const observed = observeObjects(objects, { now, fenced: true });
  assert.ok(observed.ok && observed.state.platform.fenced);
});

type AnyCluster = ClusterObjects["cluster"];

function specOf(cluster: AnyCluster): Record<string, object> {
  return (cluster as { spec: Record<string, object> }).spec;
}

function withSpec(cluster: AnyCluster, change: Record<string, unknown>): AnyCluster {
  return { ...cluster, spec: { ...specOf(cluster), ...change } } as AnyCluster;
}
