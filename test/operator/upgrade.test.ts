/**
 * Another version of the operator takes over clusters that an earlier one made, with objects as that one rendered them:
 * nobody restarts, no membership changes, what can be put right in place is, and then there is rest. And specs that it
 * would not have taken.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Pod, Service } from "kubernetes-types/core/v1.d.ts";
import { customResourceDefinition } from "../../src/api/crd.ts";
import type { EtcdMember } from "../../src/api/etcd-member.ts";
import { API_VERSION } from "../../src/api/metadata.ts";
import { resources } from "../../src/api/resources.ts";
import { ANNOTATIONS } from "../../src/operator/names.ts";
import { eventually } from "../../testbed/eventually.ts";
import { faults } from "../../testbed/faults.ts";
import type { TestTestbed } from "../../testbed/for-tests.ts";
import { refusal, reported } from "../support/edits.ts";
import { HookedTransport } from "../support/hooked-transport.ts";
import { PATHS } from "../support/kube-paths.ts";
import {
  ClusterOnBed,
  PATIENCE_MS,
  startOperator,
  upWithDefinitions,
  writes,
  type Running,
} from "../support/operator.ts";

let bed: TestTestbed;
let running: Running | undefined;
const clusters: ClusterOnBed[] = [];

before(async () => {
  bed = await upWithDefinitions();
});

after(async () => {
  for (const cluster of clusters) await cluster.close();
  await running?.stop();
  await bed?.down();
});

const PATIENCE = { withinMs: PATIENCE_MS };
const MANAGED_BY = "app.kubernetes.io/managed-by";
const OLD_NOTE = "etcd.quorate.dev/made-by";

/** A Pod in an earlier shape: what it was made from stands in its record, and not in it. */
function earlier(what: string, body: object): object {
  if (what.startsWith(`POST ${PATHS.members}/`)) return earlierRecord(body as EtcdMember);
  if (!what.startsWith(`POST ${PATHS.pods}/`)) return body;
  const pod = body as Pod;
  const containers = (pod.spec?.containers ?? []).map((container) => {
    const {
      terminationMessagePolicy: _,
      startupProbe: _probe,
      securityContext: _rights,
      ...rest
    } = container;
    return { ...rest, livenessProbe: { ...container.livenessProbe, periodSeconds: 7, failureThreshold: 99 } };
  });
  const { enableServiceLinks: _links, topologySpreadConstraints: _spread, ...spec } = pod.spec ?? {};
  return { ...pod, spec: { ...spec, containers } };
}

/** Peers dialled each other by the names of their Pods (H15). */
function earlierRecord({ spec, ...rest }: EtcdMember): object {
  const { peerIPs: _, ...address } = spec.address;
  const before = (url: string) => url.replace(/(-\d+)-peer\./, `$1.${spec.cluster}-peers.`);
  const initialCluster = spec.initialCluster.map((peer) => ({ ...peer, peerURL: before(peer.peerURL) }));
  const peerURL = before(address.peerURL);
  return { ...rest, spec: { ...spec, initialCluster, address: { ...address, peerURL } } };
}

/** Everything that can be changed in place, as if labels, notes and fields of today had not been known. */
async function ageObjects(cluster: ClusterOnBed): Promise<void> {
  const { name } = cluster;
  const unlabelled = { labels: { [MANAGED_BY]: null } };
  for (const member of await cluster.list(PATHS.pods)) {
    const annotations = { [ANNOTATIONS.given]: null, [OLD_NOTE]: "0.0.9" };
    await bed.client.patch(`${PATHS.pods}/${member}`, { metadata: { ...unlabelled, annotations } });
  }
  for (const service of await cluster.list(PATHS.services))
    await bed.client.patch(`${PATHS.services}/${service}`, {
      metadata: { ...unlabelled, annotations: { [ANNOTATIONS.applied]: "another one" } },
    });
  await bed.client.patch(`${PATHS.clusters}/${name}`, {
    metadata: { annotations: { [ANNOTATIONS.size]: null } },
  });
  const status = { selector: null, endpoints: null, plan: null, updatedReplicas: null };
  await bed.client.patch(`${PATHS.clusters}/${name}/status`, { status });
}

interface Life {
  readonly uid: string | undefined;
  readonly restarts: number | undefined;
}

async function lives(cluster: ClusterOnBed): Promise<Life[]> {
  return (await cluster.pods()).map(({ metadata, status }) => ({
    uid: metadata?.uid,
    restarts: status?.containerStatuses?.[0]?.restartCount,
  }));
}

test("an operator upgrade restarts nothing: what an earlier one made is taken over, put right in place, and left alone", async (t) => {
  const hooks = new HookedTransport(bed);
  hooks.rewrites = earlier;
  const before = startOperator(bed, { transport: hooks });
  const demo = new ClusterOnBed(bed, "demo", before);
  // Where a restart would be a loss of data (H4).
  const cache = new ClusterOnBed(bed, "cache", before);
  clusters.push(demo, cache);
  await demo.create({
    replicas: 3,
    learners: 1,
    pod: { labels: { team: "a" }, terminationGracePeriodSeconds: 5 },
  });
  const memory = { storage: { medium: "Memory", size: "128Mi" }, options: { quotaBackendBytes: "32Mi" } };
  await cache.create({ replicas: 1, ...memory });
  await Promise.all([demo.converged(3), cache.converged(1)]);
  await before.stop();
  for (const cluster of clusters) await ageObjects(cluster);

  const [pod] = await demo.pods();
  assert.equal(pod?.metadata?.labels?.[MANAGED_BY], undefined, "made the earlier way");
  assert.equal(pod?.spec?.containers[0]?.startupProbe, undefined);
  assert.equal((await demo.get()).metadata.annotations?.[ANNOTATIONS.size], undefined);
  const living = [await lives(demo), await lives(cache)];
  const ids = (await demo.members()).map(({ spec }) => spec.memberID);

  running = startOperator(bed);
  const { calls, steps, operator } = running;
  await eventually("the new one leads", () => operator.leads, PATIENCE);
  await eventually(
    "what can be put right in place is",
    async () => {
      for (const cluster of [demo, cache]) {
        const { metadata, status } = await cluster.get();
        assert.equal(status?.selector?.includes(metadata.uid ?? "?"), true);
        assert.notEqual(metadata.annotations?.[ANNOTATIONS.size], undefined);
        for (const { metadata: { labels } = {} } of await cluster.pods())
          assert.equal(labels?.[MANAGED_BY], "quorate");
      }
      const service = await bed.client.get<Service>(`${PATHS.services}/demo-client`);
      assert.equal(service.metadata?.labels?.[MANAGED_BY], "quorate");
      return true;
    },
    PATIENCE,
  );
  await Promise.all([demo.converged(3), cache.converged(1)]);
  // Three looks of a cluster at rest, each of which would write if anything were still to be written.
  let made = writes(calls).length;
  let since = Date.now();
  await eventually(
    "nothing is written any more",
    () => {
      if (writes(calls).length !== made) [made, since] = [writes(calls).length, Date.now()];
      if (Date.now() - since <= 15_000)
        throw new Error(
          writes(calls)
            .slice(-8)
            .map(({ verb, resource }) => `${verb} ${resource}`)
            .join(", "),
        );
      return true;
    },
    PATIENCE,
  );
  t.diagnostic(`${made} writes to put right what was made before`);
  // Whoever begins to lead compares the copies once, which changes nothing.
  const taken = steps.filter((step) => step !== "CompareHashes");
  assert.deepEqual(taken, [], "not a step, and so no call of membership");
  assert.deepEqual([await lives(demo), await lives(cache)], living, "nobody restarted");
  for (const { metadata, spec } of await demo.members())
    assert.equal(spec.address.peerURL, `https://${metadata.name}.demo-peers.default.svc:2380`);
  assert.deepEqual(
    (await demo.members()).map(({ spec }) => spec.memberID),
    ids,
  );
  assert.ok(made <= 40, `${made} writes`);
});

test("and the next edit reaches such members, as any edit does", async () => {
  const [demo] = clusters;
  assert.ok(demo);
  await demo.edit({ learners: 0, options: { snapshotCount: 5_000 } });
  await demo.converged(3);
  for (const { spec } of await demo.pods()) assert.notEqual(spec?.containers[0]?.startupProbe, undefined);
  // A newcomer beside them is dialled by a Service of its own.
  await demo.edit({ learners: 1 });
  await demo.converged(3);
  const dialled = (await demo.members()).map(({ spec }) => new URL(spec.address.peerURL).hostname);
  assert.equal(dialled.filter((host) => /^demo-\d+-peer\.default\.svc$/.test(host)).length, 1);
  assert.equal(dialled.filter((host) => /^demo-\d+\.demo-peers\.default\.svc$/.test(host)).length, 3);
  await demo.edit({ learners: 0 });
  await demo.converged(3);
  await demo.assertSound(3);
});

test("a spec that was stored before a rule forbade it: the status says which field, nothing of it is applied, and members are healed all the same", async () => {
  assert.ok(running);
  const { steps } = running;
  const cluster = new ClusterOnBed(bed, "odd", running);
  clusters.push(cluster);
  await cluster.create({ replicas: 3 });
  await cluster.converged(3);
  const before = await lives(cluster);
  await withoutRules(() =>
    cluster.edit({ replicas: 42, version: "3.7.3", options: { snapshotCount: 5_000 } }),
  );
  const says =
    /invalid \(spec\.replicas: replicas must be between 0 and 9.*none of it is applied.*Correct the spec/;
  await reported(cluster, "Stalled", "InvalidSpec", says);
  assert.deepEqual(await lives(cluster), before);
  await cluster.deletePod("odd-1");
  await faults(bed.name).loseVolume("default", "odd-2", "data");
  await eventually(
    "three members are well again",
    async () => {
      const { members = [], readyReplicas } = await cluster.status();
      const well = members.filter(({ healthy }) => healthy).map(({ name }) => name);
      assert.deepEqual([well, readyReplicas], [["odd-1", "odd-3", "odd-4"], 3]);
      return (await cluster.pods()).length === 3;
    },
    PATIENCE,
  );
  await reported(cluster, "Stalled", "InvalidSpec", says);
  await cluster.waitFor("Available");
  const templates = (await cluster.members()).map(({ spec: { template } }) => [
    template.version,
    template.options.snapshotCount,
  ]);
  assert.deepEqual(
    templates,
    Array.from({ length: 3 }, () => ["3.6.16", undefined]),
  );
  await cluster.assertSound(3);
  assert.ok(!steps.some((step) => step.startsWith("UpdateMember/roll odd-")));
  await cluster.edit({ replicas: 3, version: "3.6.16", options: { snapshotCount: null } });
  await cluster.converged(3);
});

/** As with the resource definition of an earlier day; afterwards it is that of today again. */
async function withoutRules(edit: () => Promise<void>): Promise<void> {
  const resource = resources.find(({ kind }) => kind === "EtcdCluster");
  assert.ok(resource);
  const { spec } = customResourceDefinition(resource) as { spec: object };
  const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/etcdclusters.etcd.quorate.dev";
  const define = async (definition: object) =>
    await eventually("the definition is taken", async () => {
      const now = await bed.client.get<object>(path);
      return await bed.client.replace(path, { ...now, spec: definition });
    });
  const free = JSON.parse(JSON.stringify(spec), (key, value: unknown) =>
    key === "x-kubernetes-validations" ? undefined : value,
  ) as object;
  await define(free);
  await eventually(
    "it is stored",
    async () => {
      await edit();
      return true;
    },
    PATIENCE,
  );
  await define(spec);
  const probe = { apiVersion: API_VERSION, kind: "EtcdCluster", metadata: { name: "probe" } };
  await eventually(
    "the rules are in force again",
    async () => {
      const call = bed.client.create(`${PATHS.clusters}?dryRun=All`, {
        ...probe,
        spec: { version: "3.6.16", replicas: 42 },
      });
      return /must be between 0 and 9/.test(await refusal(call));
    },
    PATIENCE,
  );
}
