/**
 * Hostile specs against a real API server and a running operator: each is refused at admission with what to do, or
 * refused with a condition that names field and reason, or applied. What runs keeps its quorum meanwhile, and
 * taking the edit back leads back to where it was.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Service } from "kubernetes-types/core/v1.d.ts";
import { API_VERSION } from "../../src/api/metadata.ts";
import { ensureEtcd } from "../../src/etcd/install/ensure.ts";
import { systemClock } from "../../src/seams/clock.ts";
import { eventually } from "../../testbed/eventually.ts";
import type { TestTestbed } from "../../testbed/for-tests.ts";
import { registerImage } from "../../testbed/kubelet/images.ts";
import { at, claimsLeft, eventNotes, podUIDs, refusal, serves, reported, tried } from "../support/edits.ts";
import {
  foundOutByOne,
  refusedAtAdmission,
  refusedWithACondition,
  type SpecChange,
} from "../support/hostile-specs.ts";
import { PATHS } from "../support/kube-paths.ts";
import {
  ClusterOnBed,
  PATIENCE_MS,
  SMALL,
  startOperator,
  upWithDefinitions,
  type Running,
} from "../support/operator.ts";
import { EVERY_CASE } from "../support/sample.ts";

/**
 * A canary is given up after some seconds, so that each row ends soon: enough for a slow machine to restart a good one,
 * and to find out what a bad one lacks. Nobody is replaced meanwhile.
 */
const QUICK = { repair: { unhealthyAfter: "8s", memberLostAfter: "1h" } };
const KEEP_NOTHING = { size: "1Gi", retention: { onDelete: "Delete" } };
const GOOD = { ...SMALL, ...QUICK, storage: KEEP_NOTHING };

let bed: TestTestbed;
let running: Running;
let three: ClusterOnBed;
let one: ClusterOnBed;

before(async () => {
  bed = await upWithDefinitions();
  running = startOperator(bed);
  await eventually("the operator leads", () => running.operator.leads, { withinMs: PATIENCE_MS });
  three = new ClusterOnBed(bed, "three", running);
  one = new ClusterOnBed(bed, "one", running);
  await Promise.all([three.create({ ...GOOD, replicas: 3 }), one.create({ ...GOOD, replicas: 1 })]);
  await Promise.all([three.converged(3), one.converged(1)]);
});

after(async () => {
  await Promise.all([three?.close(), one?.close()]);
  await running?.stop();
  await bed?.down();
});

describe("refused at admission, with what to do:", () => {
  assert.ok(refusedAtAdmission.length >= 40);
  for (const { title, spec, says, name } of refusedAtAdmission) {
    test(title, async () => {
      const query = "?dryRun=All&fieldValidation=Strict";
      const object = {
        apiVersion: API_VERSION,
        kind: "EtcdCluster",
        metadata: { name },
        spec: { ...GOOD, ...spec },
      };
      const edits = () => bed.client.patch(at(three, query), { spec });
      const call = name === undefined ? edits() : bed.client.create(PATHS.clusters + query, object);
      assert.match(await refusal(call), says);
    });
  }
});

describe("accepted, and refused with a condition before any member is touched:", () => {
  for (const { title, spec, reason, says } of refusedWithACondition) {
    test(title, async () => {
      const before = await podUIDs(three);
      await tried(bed, three, spec, async () => {
        await reported(three, "Stalled", reason, says);
        assert.deepEqual(await podUIDs(three), before, "no Pod was touched");
      });
      assert.deepEqual(await podUIDs(three), before, "nor by taking it back");
    });
  }

  test("and all the time clients could write", async () => {
    await serves(three);
    await three.assertSound(3);
    await three.close();
  });
});

describe("accepted, and found out by one member while the others keep quorum:", () => {
  /** Two of the three Pods are those that were there before. */
  const onlyOneOf = async (before: readonly string[]) =>
    assert.equal(
      (await podUIDs(three)).filter((uid) => before.includes(uid)).length,
      2,
      "only one was touched",
    );

  for (const { title, spec, says } of foundOutByOne) {
    test(title, async () => {
      const before = await podUIDs(three);
      await tried(bed, three, spec, async () => {
        await reported(three, "Ready", "TargetFailed", says);
        await serves(three);
        await onlyOneOf(before);
      });
    });
  }

  test("an edit that is taken back before it was given up", async () => {
    const before = await podUIDs(three);
    // With so much patience that it cannot be given up before anybody has read why it does not start.
    const edit = { pod: { nodeSelector: { disk: "imaginary" } }, repair: { unhealthyAfter: "10m" } };
    await tried(bed, three, edit, async () => {
      await reported(
        three,
        "Degraded",
        "MemberDown",
        /cannot start: .*didn't match Pod's node affinity\/selector/,
      );
      await serves(three);
    });
    await onlyOneOf(before);
  });

  test("a digest of another version than the one asked for", async () => {
    const digest = `sha256:${"a".repeat(64)}`;
    const { dir } = await ensureEtcd("3.6.14", { env: process.env, clock: systemClock });
    const image = { mounts: { "/usr/local/bin": dir }, cmd: ["/usr/local/bin/etcd"] };
    registerImage(bed.name, `gcr.io/etcd-development/etcd@${digest}`, image);
    await tried(bed, three, { image: { digest } }, async () => {
      await reported(
        three,
        "Ready",
        "VersionMismatch",
        /^spec\.image: three-\d+ runs etcd 3\.6\.14 instead of 3\.6\.16\. Correct spec\.image\.digest/,
      );
      await serves(three);
      assert.equal((await three.status()).updatedReplicas, 1, "nobody followed");
    });
    await three.assertSound(3);
    await three.close();
  });
});

interface AppliedRow {
  readonly title: string;
  readonly spec: SpecChange;
  readonly look: () => Promise<void>;
}

const podOfOne = async () => (await one.pods()).find(({ metadata }) => !metadata?.deletionTimestamp);

const appliedRows: readonly AppliedRow[] = [
  {
    title: "a LoadBalancer with annotations that mean nothing to anybody",
    spec: { service: { type: "LoadBalancer", annotations: { "example.com/nonsense": "¯\\_(ツ)_/¯ {{" } } },
    async look() {
      const service = await bed.client.get<Service>(`${PATHS.services}/one-client`);
      assert.equal(service.spec?.type, "LoadBalancer");
      assert.equal(service.metadata?.annotations?.["example.com/nonsense"], "¯\\_(ツ)_/¯ {{");
    },
  },
  {
    title: "labels of every odd shape that Kubernetes allows",
    spec: {
      pod: { labels: { "a.b-c.example/X_y.z": "", plain: "0" }, annotations: { note: '{\n\t"\u2028' } },
    },
    async look() {
      const { labels, annotations } = (await podOfOne())?.metadata ?? {};
      assert.deepEqual([labels?.["a.b-c.example/X_y.z"], labels?.["plain"]], ["", "0"]);
      assert.equal(annotations?.["note"], '{\n\t"\u2028');
    },
  },
  {
    title: "a pull secret that does not exist, for an image that needs none",
    spec: { image: { pullSecrets: ["no-such-secret"] } },
    async look() {
      assert.deepEqual((await podOfOne())?.spec?.imagePullSecrets, [{ name: "no-such-secret" }]);
    },
  },
  {
    title: "names for the certificates that hardly anybody has",
    spec: { tls: { extraSANs: ["*.xn--n3h.example", "64:ff9b::10.0.0.1", "localhost"] } },
    look: async () => await one.assertSound(1),
  },
  {
    title: "a smaller volume: another member takes its place",
    spec: { storage: { size: "640Mi" } },
    look: async () => await claimsLeft(one, ["640Mi"]),
  },
  {
    title: "memory instead of a volume, with one member",
    spec: { storage: { medium: "Memory" } },
    async look() {
      assert.equal((await podOfOne())?.spec?.volumes?.[0]?.emptyDir?.medium, "Memory");
      await claimsLeft(one, []);
    },
  },
];

describe("accepted and applied:", () => {
  // Another volume has tests with three members in storage.test.ts.
  for (const { title, spec, look } of appliedRows.filter((row) => EVERY_CASE || !row.spec["storage"])) {
    test(title, async () => {
      await tried(bed, one, spec, async () => {
        await one.converged(1);
        await look();
        await serves(one);
      });
      await serves(one);
    });
  }
});

test("a storage class that does not exist: the member stays, and the newcomer goes when the edit is taken back", async () => {
  const before = await podUIDs(one);
  await tried(bed, one, { storage: { className: "no-such-class" } }, async () => {
    await reported(one, "Ready", "VolumePending", /class no-such-class, which does not exist: create it, or/);
    await serves(one);
  });
  assert.deepEqual(await podUIDs(one), before, "the member never stopped");
  await claimsLeft(one, ["1Gi"]);
});

test("an upgrade by two minors goes in two steps, and the way back by two is refused with the next step", async () => {
  const cluster = new ClusterOnBed(bed, "older", running);
  await cluster.create({ ...GOOD, replicas: 1, version: "3.5.35" });
  await cluster.converged(1);
  const versions = new Set<string>();
  await cluster.edit({ version: "3.7.3" });
  await eventually(
    "3.7.3 is reached",
    async () => {
      const { version, conditions } = await cluster.status();
      if (version?.current !== undefined) versions.add(version.current);
      const rests = conditions?.some(({ reason }) => reason === "Converged");
      return version?.current === "3.7.3" && rests;
    },
    { withinMs: PATIENCE_MS },
  );
  assert.deepEqual([...versions], ["3.5.35", "3.6.16", "3.7.3"]);
  await cluster.edit({ version: "3.5.35" });
  await reported(
    cluster,
    "Ready",
    "VersionRefused",
    /one minor version at a time.*Set spec\.version to 3\.6\.16 first/,
  );
  await cluster.edit({ version: "3.7.3" });
  await cluster.converged(1);
  await cluster.delete();
});

test("two edits in quick succession: the second is what counts", async () => {
  await tried(bed, one, { options: { snapshotCount: 5000 } }, async () => {
    await one.edit({ options: { snapshotCount: 6000 }, pod: { labels: { wave: "2" } } });
    await one.converged(1);
    assert.deepEqual(
      (await one.members()).map(({ spec: { template } }) => [
        template.options.snapshotCount,
        template.pod.labels,
      ]),
      [[6000, { wave: "2" }]],
    );
  });
});

test("an edit while a member is down: it is applied to all, and quorum is kept", async () => {
  const [first] = await three.pods();
  await three.deletePod(first?.metadata?.name ?? "");
  await tried(bed, three, { options: { snapshotCount: 5000 } }, async () => {
    await three.converged(3);
    const counts = (await three.members()).map(({ spec }) => spec.template.options.snapshotCount);
    assert.deepEqual(counts, [5000, 5000, 5000]);
    await serves(three);
  });
});

describe("a cluster that begins with a bad spec", () => {
  test("of which no Pod can be made: nothing is begun, and the correction begins it", async () => {
    const cluster = new ClusterOnBed(bed, "late", running);
    await cluster.create({ ...GOOD, replicas: 1, pod: { serviceAccountName: "nobody" } });
    await reported(cluster, "Ready", "PodRefused", /serviceaccount "nobody" not found/);
    assert.deepEqual(await cluster.members(), []);
    await cluster.edit({ pod: { serviceAccountName: null } });
    await cluster.converged(1);
    await cluster.delete();
  });

  test("of a version that is too old: nothing is begun, and the correction begins it", async () => {
    const cluster = new ClusterOnBed(bed, "old", running);
    await cluster.create({ ...GOOD, replicas: 1, version: "3.4.45" });
    await reported(cluster, "Ready", "VersionRefused", /^etcd 3\.4 is end of life.*Set spec\.version/);
    assert.deepEqual(await cluster.members(), []);
    await cluster.edit({ version: "3.6.16" });
    await cluster.converged(1);
    await cluster.delete();
  });

  test("with an image that does not exist: the correction reaches members that never ran", async () => {
    const cluster = new ClusterOnBed(bed, "stuck", running);
    await cluster.create({ ...GOOD, replicas: 3, image: { repository: "registry.example/nothing" } });
    await eventually(
      "its status says what is missing",
      async () => JSON.stringify(await cluster.status()).includes("registry.example/nothing"),
      { withinMs: PATIENCE_MS },
    );
    await cluster.edit({ image: { repository: "gcr.io/etcd-development/etcd" } });
    await cluster.converged(3);
    await cluster.delete();
  });

  test("with a storage class that does not exist: the correction begins it anew, and nothing is left behind", async () => {
    const cluster = new ClusterOnBed(bed, "classless", running);
    await cluster.create({ ...GOOD, replicas: 1, storage: { ...KEEP_NOTHING, className: "no-such-class" } });
    await reported(
      cluster,
      "Ready",
      "VolumePending",
      /class no-such-class, which does not exist: create it, or/,
    );
    await cluster.edit({ storage: { className: "standard" } });
    await cluster.converged(1);
    await claimsLeft(cluster, ["1Gi"]);
    await cluster.delete();
  });

  test("whose name is as long as names may be: everything that is made from it fits", async () => {
    const cluster = new ClusterOnBed(bed, `a${"-long".repeat(7)}-end`, running);
    assert.equal(cluster.name.length, 40);
    await cluster.create({ ...GOOD, replicas: 1, learners: 1 });
    await cluster.converged(1);
    await cluster.delete();
  });
});

test("what is seldom meant is reported once in an event, and stands in the status", async () => {
  const cluster = new ClusterOnBed(bed, "odd", running);
  await cluster.create({ ...GOOD, replicas: 2, tls: { mode: "Disabled" } });
  await cluster.converged(2);
  const fields = (await cluster.status()).warnings?.map((text) => text.split(": ")[0]);
  assert.deepEqual(fields, ["spec.replicas", "spec.tls", "spec.disruptionBudget.enabled"]);
  // They are written beside the work.
  await eventually("each is in an event", async () => {
    const { warnings = [] } = await cluster.status();
    assert.deepEqual(await eventNotes(bed, cluster, "SpecWarning"), warnings.toSorted());
    return true;
  });
  await cluster.delete();
});

test("autoscalers find the voters' Pods by the scale subresource", async () => {
  interface Scale {
    readonly spec: { readonly replicas: number };
    readonly status: { readonly replicas: number; readonly selector: string };
  }
  const scale = await bed.client.get<Scale>(at(three, "/scale"));
  assert.deepEqual([scale.spec.replicas, scale.status.replicas], [3, 3]);
  const found = await bed.client.get<{ items: { metadata: { name: string } }[] }>(
    `${PATHS.pods}?labelSelector=${encodeURIComponent(scale.status.selector)}`,
  );
  const names = (await three.pods()).map(({ metadata }) => metadata?.name ?? "");
  assert.deepEqual(found.items.map(({ metadata }) => metadata.name).toSorted(), names.toSorted());
  const uid = (await three.get()).metadata.uid ?? "";
  assert.ok(scale.status.selector.includes(uid), "a former cluster of this name is not meant");
});

test("deletion during a rollout: everything goes", async () => {
  const from = running.steps.length;
  await three.edit({ options: { snapshotCount: 7000 } });
  await eventually(
    "the rollout has begun",
    () => running.steps.slice(from).some((step) => /^StopWorkload three-\d+$/.test(step)),
    { withinMs: PATIENCE_MS, everyMs: 5 },
  );
  await three.delete();
  await three.gone(at(three));
  for (const path of [PATHS.members, PATHS.pods, PATHS.claims, PATHS.services, PATHS.budgets, PATHS.secrets])
    await eventually(`${path} of it are gone`, async () => (await three.list(path)).length === 0, {
      withinMs: PATIENCE_MS,
    });
});

test("nothing went wrong in the operator", () => {
  assert.deepEqual(
    running.log.filter((line) => line.startsWith("error")),
    [],
  );
});
