/**
 * What is rendered, on a real API server: every object of clusters of many kinds is accepted strictly and kept as
 * it was rendered (or the operator would write it again for ever, I7), and members may run in a namespace that
 * admits only restricted Pods.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { PersistentVolumeClaim, Pod, Secret, Service } from "kubernetes-types/core/v1.d.ts";
import type { PodDisruptionBudget } from "kubernetes-types/policy/v1.d.ts";
import type { KubeClient } from "../../src/kube/client.ts";
import { covers, ensure } from "../../src/kube/ensure.ts";
import { isControlledBy, pathOf, pods, resource, services } from "../../src/kube/resources.ts";
import type { Http2Transport } from "../../src/kube/transport.ts";
import { specOf } from "../../src/core/testing/cluster.ts";
import type { View } from "../../src/core/view.ts";
import { networkPolicies } from "../../src/operator/resources.ts";
import { disruptionBudget } from "../../src/operator/render/budget.ts";
import { canonicalQuantity } from "../../src/operator/render/quantity.ts";
import { clusterServices } from "../../src/operator/render/services.ts";
import { clusterWith, rendered, type Rendered, type Wish } from "../../src/operator/testing/rendered.ts";
import { isCode } from "../../testbed/client.ts";
import { eventually } from "../../testbed/eventually.ts";
import { upForTests, type TestTestbed } from "../../testbed/for-tests.ts";
import { clientOn, configOf, transportTo } from "../support/kube-runtime.ts";

const secrets = resource<Secret>("v1", "Secret", "secrets");
const claims = resource<PersistentVolumeClaim>("v1", "PersistentVolumeClaim", "persistentvolumeclaims");
const budgets = resource<PodDisruptionBudget>("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets");
const KINDS = {
  Service: services,
  Secret: secrets,
  PersistentVolumeClaim: claims,
  PodDisruptionBudget: budgets,
  NetworkPolicy: networkPolicies,
  Pod: pods,
} as const;

let bed: TestTestbed;
let transport: Http2Transport;
let client: KubeClient;

before(async () => {
  bed = await upForTests();
  transport = transportTo(configOf(bed));
  client = clientOn(transport);
  for (const level of ["restricted", "privileged"]) {
    const labels = { "pod-security.kubernetes.io/enforce": level };
    await bed.client.create("/api/v1/namespaces", { metadata: { name: level, labels } });
    // Pods are refused until their account exists.
    await eventually(`the account of ${level}`, () =>
      bed.client.get(`/api/v1/namespaces/${level}/serviceaccounts/default`),
    );
    await bed.client.create(`/api/v1/namespaces/${level}/serviceaccounts`, { metadata: { name: "reader" } });
  }
  const first = { metadata: { name: "first" }, value: 1000 };
  await bed.client.create("/apis/scheduling.k8s.io/v1/priorityclasses", first);
});

after(async () => {
  await transport?.close();
  await bed?.down();
});

const selector = {
  matchLabels: { app: "web" },
  matchExpressions: [{ key: "tier", operator: "Exists" as const }],
};
const term = { topologyKey: "kubernetes.io/hostname", labelSelector: selector, namespaces: ["default"] };
const nodes = { matchExpressions: [{ key: "disk", operator: "In" as const, values: ["fast"] }] };

/** Every field of a Pod that a spec can set. */
const everything: Wish = {
  version: "3.6.16",
  learners: 2,
  image: {
    repository: "registry.example/etcd",
    digest: `sha256:${"1".repeat(64)}`,
    pullPolicy: "Always",
    pullSecrets: ["registry", "mirror"],
  },
  storage: { size: "12.5Gi", className: "fast" },
  networkPolicy: {
    enabled: true,
    clients: [
      { podSelector: {} },
      { namespaceSelector: { matchLabels: {} }, podSelector: { matchLabels: { app: "shop" } } },
      { ipBlock: { cidr: "192.0.2.0/24", except: ["192.0.2.128/25"] } },
      { ipBlock: { cidr: "2001:db8::/32" } },
    ],
    metrics: [
      { podSelector: { matchExpressions: [{ key: "app", operator: "In", values: ["prometheus"] }] } },
      { namespaceSelector: { matchExpressions: [{ key: "team", operator: "Exists" }] } },
    ],
  },
  pod: {
    resources: { requests: { cpu: 0, memory: "0.5Gi" }, limits: { cpu: "1500m", memory: "8192Mi" } },
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [nodes] },
        preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 3, preference: nodes }],
      },
      podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] },
      podAntiAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 7, podAffinityTerm: term }],
      },
    },
    topologySpreadConstraints: [
      {
        maxSkew: 1,
        topologyKey: "topology.kubernetes.io/zone",
        whenUnsatisfiable: "DoNotSchedule",
        minDomains: 2,
      },
      { maxSkew: 2, topologyKey: "rack", whenUnsatisfiable: "ScheduleAnyway", labelSelector: selector },
    ],
    nodeSelector: { disk: "fast" },
    tolerations: [
      { key: "etcd", operator: "Equal", value: "only", effect: "NoSchedule" },
      { key: "slow", operator: "Exists", effect: "NoExecute", tolerationSeconds: 30 },
    ],
    priorityClassName: "first",
    serviceAccountName: "reader",
    labels: { team: "storage" },
    annotations: { note: "not for production" },
    securityContext: {
      runAsUser: 1000,
      runAsGroup: 1000,
      runAsNonRoot: true,
      fsGroup: 1000,
      fsGroupChangePolicy: "Always",
      supplementalGroups: [2000],
      seccompProfile: { type: "RuntimeDefault" },
      seLinuxOptions: { level: "s0:c123,c456" },
      sysctls: [{ name: "net.ipv4.ip_local_port_range", value: "1024 65535" }],
    },
    env: [
      { name: "GOGC", value: "50" },
      { name: "NODE", valueFrom: { fieldRef: { apiVersion: "v1", fieldPath: "spec.nodeName" } } },
    ],
    sidecars: [
      {
        name: "log",
        image: "log:1",
        args: ["--follow"],
        volumeMounts: [{ name: "data", mountPath: "/data", readOnly: true }],
      },
    ],
    terminationGracePeriodSeconds: 120,
  },
  service: {
    type: "LoadBalancer",
    labels: { team: "storage" },
    annotations: { "example.com/balancer": "inner" },
  },
};

const CLUSTERS: Readonly<Record<string, Wish>> = {
  defaults: {},
  memory: { storage: { medium: "Memory", size: "4096Mi" } },
  ephemeral: { storage: { medium: "Ephemeral", size: "20G" } },
  "host-path": { storage: { medium: "HostPath", hostPath: "/var/lib/etcd" } },
  // Volumes that exist already: no class is to make one.
  existing: { storage: { accessModes: ["ReadWriteOncePod"], className: "", selector } },
  plain: { tls: { mode: "Disabled" }, service: { type: "NodePort" } },
  old: { version: "3.5.10", disruptionBudget: { enabled: false } },
  everything,
};

const LONG = `c${"x".repeat(38)}z`;

function viewIn(namespace: string, wish: Wish, name = "demo"): View {
  const spec = specOf({ learners: 1, ...wish });
  return clusterWith(spec, { name, namespace, uid: `uid-of-${name}` });
}

/** What the server would keep. */
function accepted(object: Rendered): Promise<Rendered> {
  const { kind = "Pod", metadata } = object;
  const path = pathOf(KINDS[kind as keyof typeof KINDS], { namespace: metadata?.namespace ?? "" });
  return bed.client.create(`${path}?dryRun=All&fieldValidation=Strict`, object);
}

/** As `covers`, but lists may have grown: the server adds tolerations, volumes and mounts to Pods. */
function keeps(have: unknown, want: unknown): boolean {
  if (Array.isArray(want)) return Array.isArray(have) && want.every((item, i) => keeps(have[i], item));
  if (typeof want !== "object" || want === null) return have === want;
  if (typeof have !== "object" || have === null) return false;
  return Object.entries(want).every(([field, value]) =>
    keeps((have as Record<string, unknown>)[field], value),
  );
}

describe("every object is accepted strictly, and kept as it was rendered", () => {
  for (const [name, wish] of Object.entries(CLUSTERS)) {
    test(`of a cluster: ${name}`, async () => {
      for (const view of [viewIn("privileged", wish), viewIn("privileged", wish, LONG)]) {
        const objects = rendered(view);
        assert.ok(objects.length >= 15, `${objects.length} objects`);
        for (const object of objects) {
          const kept = await accepted(object);
          const same = object.kind === "Pod" ? keeps(kept, object) : covers(kept, object);
          assert.ok(same, `${object.kind}\nrendered ${JSON.stringify(object)}\nkept ${JSON.stringify(kept)}`);
        }
      }
    });
  }

  test("also of a Pod that waits for its permit, and of one that is bound to a node", async () => {
    const view = viewIn("privileged", everything);
    for (const how of [{ gated: true }, { node: "node-1" }]) {
      for (const object of rendered(view, how).filter(({ kind }) => kind === "Pod"))
        assert.ok(keeps(await accepted(object), object), JSON.stringify(how));
    }
  });
});

describe("a namespace that admits only restricted Pods", () => {
  for (const [name, wish] of Object.entries(CLUSTERS)) {
    const refused = wish.storage?.medium === "HostPath";
    test(`${refused ? "refuses" : "admits"} the members of a cluster: ${name}`, async () => {
      for (const object of rendered(viewIn("restricted", wish)).filter(({ kind }) => kind === "Pod")) {
        const attempt = accepted(object);
        if (refused)
          await assert.rejects(attempt, (error) => isCode(error, 403) && /hostPath/.test(String(error)));
        else await attempt;
      }
    });
  }
});

test("I7: a second look at Services and budgets finds nothing to write, also after they were changed", async () => {
  const namespace = "privileged";
  const isOurs = (object: object) => isControlledBy(object, "uid-of-twice");
  const look = async (view: View): Promise<string[]> => {
    const done: string[] = [];
    for (const wanted of clusterServices(view)) {
      const known = await orNothing<Service>(
        pathOf(services, { namespace, name: wanted.metadata?.name ?? "" }),
      );
      const wishes = { wanted, known, isOurs, stamp: "example.com/applied" };
      done.push((await ensure(client, services, wishes)).done);
    }
    const wanted = disruptionBudget(view);
    assert.ok(wanted);
    const known = await orNothing<PodDisruptionBudget>(pathOf(budgets, { namespace, name: "twice" }));
    done.push((await ensure(client, budgets, { wanted, known, isOurs, stamp: "example.com/applied" })).done);
    return done;
  };
  const changes: Wish[] = [
    { service: { labels: { a: "b" }, annotations: { c: "d" } } },
    { service: { type: "LoadBalancer" } },
    { service: { type: "NodePort" }, replicas: 5 },
    {},
  ];
  const first = viewIn(namespace, {}, "twice");
  assert.deepEqual(new Set(await look(first)), new Set(["created"]));
  assert.deepEqual(new Set(await look(first)), new Set(["unchanged"]));
  for (const wish of changes) {
    const view = viewIn(namespace, wish, "twice");
    const done = await look(view);
    assert.ok(done.includes("applied"), `${JSON.stringify(wish)}: ${done.join(", ")}`);
    assert.deepEqual(new Set(await look(view)), new Set(["unchanged"]), JSON.stringify(wish));
  }
  const kept = await bed.client.get<Service>(pathOf(services, { namespace, name: "twice-client" }));
  assert.equal(kept.spec?.type, "ClusterIP");
  assert.equal(kept.metadata?.labels?.["a"], undefined, "what is not wanted any more is gone");
});

test("sizes are rendered as they are kept, and are what was written, in whole bytes", async () => {
  const whole = ["1024Mi", "1.5Gi", "0.5Ki", "10G", "1500M", "2000M", "1e3", "1e4", "3e9", ".5Gi", "4Ei"];
  const sizeOf = async (storage: string) => {
    const metadata = { name: "size", namespace: "privileged" };
    const spec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage } } };
    const claim = { apiVersion: "v1", kind: "PersistentVolumeClaim", metadata, spec } as const;
    const kept = (await accepted(claim)) as PersistentVolumeClaim;
    return kept.spec?.resources?.requests?.["storage"];
  };
  for (const size of [...whole, 1000, 123_456_789, "999999999999999"])
    assert.equal(await sizeOf(String(size)), canonicalQuantity(size), String(size));
  for (const size of ["0.1Gi", "1.0001Ki", "2.5", "+5"]) {
    const rounded = canonicalQuantity(size);
    assert.equal(await sizeOf(rounded), rounded, size);
  }
});

test("a Pod's requests and limits are kept as they are written", async () => {
  const amounts = { cpu: "0.25", memory: "1.5G", "ephemeral-storage": "0.1Gi", "hugepages-2Mi": "4Mi" };
  const limits = { ...amounts, cpu: 2 };
  const wish: Wish = { pod: { resources: { requests: amounts, limits } } };
  const [pod] = rendered(viewIn("privileged", wish)).filter(({ kind }) => kind === "Pod") as Pod[];
  assert.ok(pod && keeps(await accepted(pod), pod));
});

async function orNothing<T>(path: string): Promise<T | undefined> {
  try {
    return await bed.client.get<T>(path);
  } catch (error) {
    if (isCode(error, 404)) return undefined;
    throw error;
  }
}
