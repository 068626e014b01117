/**
 * What a user may do to a cluster beside scaling: pause it, upgrade it, relabel it, have a neighbour or a stranger in its
 * place, break its annotations, delete it.
 */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { X509Certificate } from "node:crypto";
import { after, before, describe, test } from "node:test";
import type { PersistentVolumeClaim, Pod, Secret, Service } from "kubernetes-types/core/v1.d.ts";
import { ANNOTATIONS, CLUSTER_FINALIZER, LABELS } from "../../src/operator/names.ts";
import type { KubeObject } from "../../src/kube/resources.ts";
import { isCode } from "../../testbed/client.ts";
import { eventually } from "../../testbed/eventually.ts";
import type { TestTestbed } from "../../testbed/for-tests.ts";
import { autoscaled, reallyAutoscaled } from "../support/autoscaled.ts";
import { PATHS } from "../support/kube-paths.ts";
import { ClusterOnBed, startOperator, upWithDefinitions, type Running } from "../support/operator.ts";
import { OperatorChecker } from "../support/operator-checker.ts";
import { EVERY_CASE } from "../support/sample.ts";

let bed: TestTestbed;
let running: Running;
const clusters: ClusterOnBed[] = [];

before(async () => {
  bed = await upWithDefinitions();
  running = startOperator(bed);
});

after(async () => {
  for (const cluster of clusters) await cluster.close();
  await running?.stop();
  await bed?.down();
});

function clusterOf(name: string): ClusterOnBed {
  const cluster = new ClusterOnBed(bed, name, running);
  clusters.push(cluster);
  return cluster;
}

const soon = { withinMs: 60_000 };

describe("a cluster of three", () => {
  const cluster = () => clusters[0] ?? clusterOf("demo");
  before(async () => {
    await cluster().create({ replicas: 3, version: "3.5.35" });
    await cluster().converged(3);
  });

  test("two clusters in one namespace do not touch each other", async () => {
    const other = clusterOf("demo-2");
    await other.create({ replicas: 1 });
    await other.converged(1);
    await cluster().converged(3);
    assert.deepEqual(await other.list(PATHS.pods), ["demo-2-1"]);
    await cluster().assertSound(3);
    await other.delete();
    await other.gone(`${PATHS.clusters}/demo-2`);
  });

  test("labels and annotations of the Pods change in place", async () => {
    const uids = (await cluster().pods()).map(({ metadata }) => metadata?.uid);
    await cluster().edit({ pod: { labels: { team: "a" }, annotations: { note: "x" } } });
    const every = (look: (pod: Pod) => boolean) => async () => (await cluster().pods()).every(look);
    await eventually(
      "labelled",
      every(({ metadata }) => metadata?.labels?.["team"] === "a"),
      soon,
    );
    await cluster().edit({ pod: { labels: null, annotations: null } });
    await eventually(
      "unlabelled",
      every(({ metadata }) => metadata?.labels?.["team"] === undefined),
      soon,
    );
    const pods = await cluster().pods();
    assert.deepEqual(
      pods.map(({ metadata }) => metadata?.uid),
      uids,
    );
    for (const { metadata } of pods) {
      assert.equal(metadata?.labels?.[LABELS.role], "voter");
      assert.equal(metadata?.annotations?.["note"], undefined);
      assert.ok(metadata?.annotations?.[ANNOTATIONS.startedFrom]);
    }
    await cluster().converged(3);
  });

  test("spec.metadata is on every object in place, and goes with the spec; what others wrote stays", async () => {
    const uids = (await cluster().pods()).map(({ metadata }) => metadata?.uid);
    const kinds = [PATHS.pods, PATHS.claims, PATHS.services, PATHS.secrets, PATHS.members, PATHS.budgets];
    const objects = async () => {
      const lists = kinds.map((path) =>
        bed.client.get<{ items: KubeObject[] }>(`${path}?labelSelector=${LABELS.cluster}%3Ddemo`),
      );
      return (await Promise.all(lists)).map(({ items }) => items);
    };
    await bed.client.patch(`${PATHS.claims}/data-demo-1`, { metadata: { labels: { theirs: "1" } } });
    await cluster().edit({ metadata: { labels: { team: "a", also: "b" }, annotations: { note: "x" } } });
    const all = async (look: (metadata: KubeObject["metadata"]) => boolean) => {
      const found = await objects();
      assert.ok(found.every((items) => items.length > 0));
      return found.flat().every(({ metadata }) => look(metadata));
    };
    await eventually(
      "everything has them",
      () => all((one) => one?.labels?.["team"] === "a" && one.annotations?.["note"] === "x"),
      soon,
    );
    await cluster().converged(3);
    await cluster().edit({ metadata: { labels: { team: "c", also: null }, annotations: null } });
    await eventually(
      "and only what the spec says",
      () =>
        all(
          (one) =>
            one?.labels?.["team"] === "c" &&
            one.labels["also"] === undefined &&
            one.annotations?.["note"] === undefined,
        ),
      soon,
    );
    await cluster().edit({ metadata: null });
    await eventually(
      "nothing is left of them",
      () => all((one) => one?.labels?.["team"] === undefined),
      soon,
    );
    await cluster().converged(3);
    const claim = await bed.client.get<KubeObject>(`${PATHS.claims}/data-demo-1`);
    assert.equal(claim.metadata?.labels?.["theirs"], "1");
    const pods = await cluster().pods();
    assert.deepEqual(
      pods.map(({ metadata }) => metadata?.uid),
      uids,
    );
  });

  test("a VerticalPodAutoscaler finds each member by its scale, and what it does to a Pod is not undone", async () => {
    type Scale = { spec: { replicas: number }; status: { replicas: number; selector: string } };
    const path = `${PATHS.members}/demo-2/scale`;
    await eventually(
      "its Pod is selected",
      async () => {
        const { spec, status } = await bed.client.get<Scale>(path);
        if (spec.replicas !== 1 || status.replicas !== 1 || !status.selector) return false;
        const selected = encodeURIComponent(status.selector);
        const { items } = await bed.client.get<{ items: Pod[] }>(`${PATHS.pods}?labelSelector=${selected}`);
        assert.deepEqual(
          items.map(({ metadata }) => metadata?.name),
          ["demo-2"],
        );
        return true;
      },
      soon,
    );
    for (const replicas of [0, 2]) {
      const answer = bed.client.patch(path, { spec: { replicas } });
      await assert.rejects(answer, /scale its EtcdCluster instead/);
    }
    const pods = await cluster().pods();
    const steps = running.steps.length;
    const resources = { requests: { cpu: "150m", memory: "300Mi" } };
    await bed.client.patch(`${PATHS.pods}/demo-2/resize`, {
      spec: { containers: [{ name: "etcd", resources }] },
    });
    await bed.client.patch(`${PATHS.clusters}/demo`, { metadata: { labels: { look: "again" } } });
    await cluster().converged(3);
    const after = await cluster().pods();
    assert.deepEqual(
      after.map(({ metadata }) => metadata?.uid),
      pods.map(({ metadata }) => metadata?.uid),
    );
    const [, second] = after;
    assert.equal(second?.spec?.containers[0]?.resources?.requests?.["cpu"], "150m");
    assert.deepEqual(running.steps.slice(steps), []);
  });

  test("an autoscaler's webhook and evictions: the same member comes back with its resources, and nothing rolls", async () => {
    await autoscaled(bed, cluster(), running);
  });
  if (EVERY_CASE)
    test("so it is with a real VerticalPodAutoscaler, and in place", () =>
      reallyAutoscaled(bed, cluster(), running));

  test("each claim and its PersistentVolume tell what they hold, and at rest nothing is written there", async () => {
    const volumes = "/api/v1/persistentvolumes";
    const { clusterID = "" } = await cluster().status();
    const members = await cluster().members();
    const read = async (name: string) => {
      const claim = await bed.client.get<PersistentVolumeClaim>(`${PATHS.claims}/data-${name}`);
      return [claim, await bed.client.get<KubeObject>(`${volumes}/${claim.spec?.volumeName}`)] as const;
    };
    for (const { metadata, spec } of members) {
      await eventually(
        `${metadata.name} is told`,
        async () => (await read(metadata.name)).every((one) => one.metadata?.labels?.[LABELS.memberID]),
        soon,
      );
      const [claim, volume] = await read(metadata.name);
      for (const { metadata: on } of [claim, volume]) {
        assert.equal(on?.labels?.[LABELS.member], metadata.name);
        assert.equal(on.labels[LABELS.memberID], spec.memberID);
        assert.equal(on.labels[LABELS.clusterID], clusterID);
        assert.equal(on.annotations?.[ANNOTATIONS.token], spec.token);
        assert.equal(on.annotations[ANNOTATIONS.peerURL], spec.address.peerURL);
        assert.equal(on.annotations[ANNOTATIONS.etcdVersion], spec.template.version);
        assert.ok(Date.parse(on.annotations[ANNOTATIONS.lastUsed] ?? "") > 0);
      }
    }
    await cluster().converged(3);
    const [before] = await read("demo-1");
    await bed.client.patch(`${PATHS.clusters}/demo`, { metadata: { labels: { look: "once-more" } } });
    await cluster().converged(3);
    const [after] = await read("demo-1");
    assert.equal(after.metadata?.resourceVersion, before.metadata?.resourceVersion);
  });

  test("paused: a Pod that dies is not made anew, and the status says so; then it is", async () => {
    await cluster().edit({ paused: true });
    await eventually("it says so", async () => (await cluster().condition("Ready")) === "False/Paused", soon);
    await cluster().deletePod("demo-3");
    await eventually("the Pod is gone", async () => (await cluster().list(PATHS.pods)).length === 2, soon);
    await eventually("it is told", async () => (await cluster().status()).readyReplicas === 2, soon);
    const passes = running.steps.length;
    await bed.client.patch(`${PATHS.clusters}/demo`, { metadata: { labels: { look: "now" } } });
    await eventually(
      "degraded",
      async () => (await cluster().condition("Degraded")).startsWith("True"),
      soon,
    );
    assert.equal((await cluster().list(PATHS.pods)).length, 2);
    assert.deepEqual(running.steps.slice(passes), []);
    await cluster().edit({ paused: false });
    await cluster().converged(3);
    assert.equal((await cluster().list(PATHS.pods)).length, 3);
  });

  test("a minor upgrade 3.5 → 3.6 and a patch, by editing only the version, under an application", async (t) => {
    await using checker = await OperatorChecker.start(cluster());
    const ids = (await cluster().members()).map(({ spec }) => spec.memberID);
    for (const version of ["3.6.14", "3.6.16"]) {
      const began = Date.now();
      await cluster().edit({ version });
      const status = await cluster().converged(3);
      t.diagnostic(`${version} after ${Date.now() - began} ms`);
      assert.equal(status.version?.current, version);
    }
    assert.deepEqual(
      (await cluster().members()).map(({ spec }) => spec.memberID),
      ids,
    );
    const report = await checker.judged();
    t.diagnostic(`longest write gap ${Math.round(report.longestWriteGapMs)} ms`);
    await cluster().assertSound(3);
  });

  test("a version that cannot be reached is refused with the reason, and nothing is changed", async () => {
    const steps = running.steps.length;
    await cluster().edit({ version: "3.4.23" });
    await eventually(
      "it is refused",
      async () => (await cluster().condition("Ready")) === "False/VersionRefused",
      soon,
    );
    assert.deepEqual(running.steps.slice(steps), []);
    await cluster().edit({ version: "3.6.16" });
    await cluster().converged(3);
  });

  test("marks that cannot be read are a condition with the field; corrected, it goes on", async () => {
    const path = `${PATHS.clusters}/demo`;
    const life = "etcd.quorate.dev/highest-ordinal";
    await bed.client.patch(path, { metadata: { annotations: { [life]: "many" } } });
    await eventually(
      "it is told",
      async () => (await cluster().condition("Ready")) === "False/MarkUnreadable",
      soon,
    );
    const { conditions } = await cluster().status();
    assert.match(conditions?.find(({ type }) => type === "Ready")?.message ?? "", /highest-ordinal/);
    await cluster().assertSound(3);
    await bed.client.patch(path, { metadata: { annotations: { [life]: null } } });
    await cluster().converged(3);
  });

  test("deleted: nothing is left but the volumes, which storage.retention.onDelete keeps", async () => {
    assert.ok((await cluster().get()).metadata.finalizers?.includes(CLUSTER_FINALIZER));
    await cluster().delete();
    await cluster().gone(`${PATHS.clusters}/demo`);
    for (const path of [PATHS.pods, PATHS.members, PATHS.secrets, PATHS.services, PATHS.budgets])
      await eventually(`${path} are gone`, async () => (await cluster().list(path)).length === 0, soon);
    const kept = await cluster().list(PATHS.claims);
    assert.deepEqual(kept, ["data-demo-1", "data-demo-2", "data-demo-3"]);
  });

  test("another cluster of the name takes nothing of what was kept: its members have other names", async () => {
    await cluster().create({ replicas: 1, storage: { size: "1Gi", retention: { onDelete: "Delete" } } });
    await cluster().converged(1);
    assert.deepEqual(await cluster().list(PATHS.members), ["demo-4"]);
    await cluster().delete();
    await cluster().gone(`${PATHS.clusters}/demo`);
    await cluster().gone(`${PATHS.claims}/data-demo-4`);
    assert.equal((await cluster().list(PATHS.claims)).length, 3);
  });
});

test("I9: a foreign Service of our name is a condition, and stays as it is; then the cluster is made", async () => {
  const metadata = { name: "taken-peers", namespace: "default" };
  const spec = { ports: [{ port: 80 }], selector: { app: "theirs" } };
  await bed.client.create(PATHS.services, { apiVersion: "v1", kind: "Service", metadata, spec });
  const theirs = await bed.client.get(`${PATHS.services}/taken-peers`);
  const cluster = clusterOf("taken");
  await cluster.create({ replicas: 1 });
  await eventually("it is told", async () => (await cluster.condition("Ready")) === "False/NameClash", soon);
  const { message } = await cluster.status();
  assert.match(message ?? "", /Service default\/taken-peers/);
  assert.deepEqual(await bed.client.get(`${PATHS.services}/taken-peers`), theirs);
  assert.deepEqual(await cluster.list(PATHS.pods), []);
  await bed.client.delete(`${PATHS.services}/taken-peers`);
  await cluster.converged(1);
  await cluster.delete();
  await cluster.gone(`${PATHS.clusters}/taken`);
});

test("I9: a foreign Service of the cluster's own name stays as it is, and stops nothing", async () => {
  const metadata = { name: "own", namespace: "default" };
  const spec = { ports: [{ port: 80 }], selector: { app: "theirs" } };
  const path = `${PATHS.services}/own`;
  await bed.client.create(PATHS.services, { apiVersion: "v1", kind: "Service", metadata, spec });
  const theirs = await bed.client.get(path);
  const cluster = clusterOf("own");
  await cluster.create({ replicas: 1 });
  await eventually(
    "it is told, and clients are let in",
    async () =>
      (await cluster.condition("Ready")) === "False/NameClash" &&
      (await cluster.condition("Available")).startsWith("True"),
    soon,
  );
  assert.match((await cluster.status()).message ?? "", /Service default\/own exists.*/);
  await bed.client.get(`${PATHS.services}/own-client`);
  assert.deepEqual(await bed.client.get(path), theirs);
  await cluster.edit({ service: { clusterName: false } });
  await cluster.converged(1);
  assert.deepEqual(await bed.client.get(path), theirs);
  await bed.client.delete(path);
  await cluster.edit({ service: { clusterName: null } });
  await cluster.converged(1);
  const own = await bed.client.get<Service>(path);
  const client = await bed.client.get<Service>(`${PATHS.services}/own-client`);
  assert.deepEqual(own.spec?.selector, client.spec?.selector);
  assert.deepEqual(
    own.spec?.ports?.map(({ port }) => port),
    [2379],
  );
  const { data } = await bed.client.get<Secret>(`${PATHS.secrets}/own-1`);
  const pem = Buffer.from(data?.["server.pem"] ?? "", "base64");
  const names = new X509Certificate(pem).subjectAltName ?? "";
  for (const name of ["own", "own.default", "own.default.svc", "own.default.svc.cluster.local"])
    assert.ok(names.split(", ").includes(`DNS:${name}`), `${name} in ${names}`);
  await cluster.edit({ service: { clusterName: false } });
  await cluster.gone(path);
  await cluster.delete();
  await cluster.gone(`${PATHS.clusters}/own`);
});

test("each step and each refusal is an event of the cluster", async () => {
  // They are written beside the work.
  await eventually("all are reported", async () => {
    const { items } = await bed.client.get<{ items: { reason: string; regarding: { kind: string } }[] }>(
      "/apis/events.k8s.io/v1/namespaces/default/events",
    );
    const reasons = new Set(
      items.filter(({ regarding }) => regarding.kind === "EtcdCluster").map((one) => one.reason),
    );
    for (const reason of [
      "Establish",
      "Roll",
      "StopWorkload",
      "VersionRefused",
      "MarkUnreadable",
      "NameClash",
    ])
      assert.ok(reasons.has(reason), `${reason} of ${[...reasons].join(", ")}`);
    return true;
  });
});

test("a cluster that is deleted before anything was made goes at once", async () => {
  const cluster = clusterOf("brief");
  await cluster.create({ replicas: 1, paused: true });
  await eventually("it was seen", async () => (await cluster.condition("Ready")) !== "", soon);
  await cluster.delete();
  await cluster.gone(`${PATHS.clusters}/brief`);
  await assert.rejects(bed.client.get(`${PATHS.services}/brief-peers`), (error) => isCode(error, 404));
});
