/** The admission policies for tenants and for secure defaults, with accounts of different rights on a real API server. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { exampleAuthObject } from "../../src/api/auth-examples.ts";
import { API_VERSION } from "../../src/api/metadata.ts";
import { exampleSchedule } from "../../src/api/schedule-examples.ts";
import { exampleSnapshot } from "../../src/api/snapshot-examples.ts";
import { Client } from "../../testbed/client.ts";
import { eventually } from "../../testbed/eventually.ts";
import { upForTests, type TestTestbed } from "../../testbed/for-tests.ts";
import { applyAll, manifests, operatorToken, whenServed } from "../support/install.ts";
import { refusal, userWith } from "../support/users.ts";

const OURS = `/apis/${API_VERSION}/namespaces/default`;
const KINDS = ["etcdclusters", "etcdsnapshots", "etcdsnapshotschedules", "etcdusers"] as const;
type Plural = (typeof KINDS)[number];
const SIDECAR = { name: "proxy", image: "registry.example/proxy:1" };
const SECRET_KEY = { name: "TOKEN", valueFrom: { secretKeyRef: { name: "other", key: "token" } } };
const STORE = { s3: { bucket: "backups", credentialsSecret: "store" } };

let bed: TestTestbed;
/** May edit all of our kinds, and nothing else. */
let tenant: Client;
/** May also get the Secret `store`. */
let reader: Client;
/** May also create Pods, Services and Secrets, by the role edit of Kubernetes. */
let editor: Client;
let operator: Client;

before(async () => {
  bed = await upForTests();
  await applyAll(
    bed.client,
    manifests("install.yaml").filter(({ kind }) => kind !== "Deployment"),
  );
  await whenServed(bed.client, ...KINDS.map((plural) => `${OURS}/${plural}`));
  tenant = await userWith(bed, "tenant", "quorate-edit");
  const get = { apiGroups: [""], resources: ["secrets"], verbs: ["get"], resourceNames: ["store"] };
  reader = await userWith(bed, "reader", "quorate-edit", { rules: [get] });
  const certificates = { apiGroups: ["cert-manager.io"], resources: ["certificates"], verbs: ["create"] };
  editor = await userWith(bed, "editor", "edit", { rules: [certificates] });
  const { cert: _, key: __, ...access } = bed.access;
  operator = new Client({ ...access, token: await operatorToken(bed.client) });
  // Roles are put together, and policies take effect, a moment after they are accepted.
  for (const user of [tenant, reader, editor])
    await eventually("its role to cover our kinds", async () => (await said(user, cluster({}))) === "");
  await eventually("the policies to be in force", async () =>
    /sidecars/.test(await said(tenant, cluster({ pod: { sidecars: [SIDECAR] } }))),
  );
});

after(async () => {
  for (const user of [tenant, reader, editor, operator]) user?.close();
  await bed?.down();
});

interface Wish {
  readonly plural: Plural;
  readonly object: object;
}

function cluster(spec: object, name = "demo"): Wish {
  const object = { apiVersion: API_VERSION, kind: "EtcdCluster", metadata: { name } };
  return { plural: "etcdclusters", object: { ...object, spec: { version: "3.6.16", ...spec } } };
}

const snapshot = (spec: object): Wish => ({ plural: "etcdsnapshots", object: exampleSnapshot(spec) });

/** What the server says against the creation, of which nothing remains. */
function said(user: Client, { plural, object }: Wish, namespace = "default"): Promise<string> {
  const path = `/apis/${API_VERSION}/namespaces/${namespace}/${plural}?dryRun=All&fieldValidation=Strict`;
  return refusal(user.create(path, object));
}

const secretsOf = (plane: "client" | "peer") =>
  plane === "client"
    ? {
        mode: "Secrets",
        client: { secrets: { server: "a", operator: "b" } },
        peer: { mode: "Disabled" },
      }
    : { mode: "Disabled", peer: { mode: "Secrets", secrets: { member: "c" } } };

/** The field that is named, the right that is missing, a wish that needs it, and who has all other rights for it. */
const NEEDED: readonly [field: string, right: string, wish: Wish, by?: "reader"][] = [
  ["pod.sidecars", "create Pods", cluster({ pod: { sidecars: [SIDECAR] } })],
  ["pod.serviceAccountName", "create Pods", cluster({ pod: { serviceAccountName: "builder" } })],
  ["pod.priorityClassName", "create Pods", cluster({ pod: { priorityClassName: "system-node-critical" } })],
  ["pod.securityContext", "create Pods", cluster({ pod: { securityContext: { runAsUser: 0 } } })],
  ["pod.env", "create Pods", cluster({ pod: { env: [SECRET_KEY] } })],
  ["pod.labels", "create Pods", cluster({ pod: { labels: { app: "payments" } } })],
  ["pod.annotations", "create Pods", cluster({ pod: { annotations: { "example.com/role": "x" } } })],
  ["metadata.labels", "create Pods", cluster({ metadata: { labels: { app: "payments" } } })],
  ["image.repository", "create Pods", cluster({ image: { repository: "registry.example/mine" } })],
  ["image.pullSecrets", "get Secrets or create Pods", cluster({ image: { pullSecrets: ["registry"] } })],
  [
    "storage.medium",
    "create Pods",
    cluster({ storage: { medium: "HostPath", hostPath: "/var/lib/kubelet" } }),
  ],
  ["service", "create Services", cluster({ service: { type: "LoadBalancer" } })],
  [
    "tls.client.certManager",
    "create certificates.cert-manager.io",
    cluster({
      tls: {
        client: { mode: "CertManager", certManager: { server: { name: "ca" }, operator: { name: "ca" } } },
      },
    }),
  ],
  ["tls.client.secrets.server", "get this Secret or create Pods", cluster({ tls: secretsOf("client") })],
  ["tls.peer.secrets.member", "get this Secret or create Pods", cluster({ tls: secretsOf("peer") })],
  [
    "auth.rootPasswordSecret",
    "get this Secret or create Pods",
    cluster({ auth: { enabled: true, clientRoles: [], rootPasswordSecret: "root" } }),
  ],
  [
    "bootstrap.restore.source.pvc.claimName",
    "create Pods",
    cluster({ bootstrap: { restore: { source: { pvc: { claimName: "backups", path: "a.db" } } } } }),
  ],
  ["destination.s3.credentialsSecret", "get this Secret or create Pods", snapshot({ destination: STORE })],
  ["destination.s3", "create Pods", snapshot({ destination: { s3: { bucket: "backups" } } })],
  [
    "encryption.keySecret",
    "get this Secret or create Pods",
    snapshot({ destination: STORE, encryption: { keySecret: "key" } }),
    "reader",
  ],
  [
    "serviceAccountName",
    "create Pods",
    snapshot({ destination: STORE, serviceAccountName: "builder" }),
    "reader",
  ],
  ["destination.pvc.claimName", "create Pods", snapshot({ destination: { pvc: { claimName: "backups" } } })],
  [
    "destination.s3.credentialsSecret",
    "get this Secret or create Pods",
    { plural: "etcdsnapshotschedules", object: exampleSchedule({ destination: STORE }) },
  ],
  [
    "passwordSecret",
    "get this Secret or create Pods",
    {
      plural: "etcdusers",
      object: exampleAuthObject("EtcdUser", { cluster: "demo", passwordSecret: "password" }),
    },
  ],
];

test("each field that reaches beyond etcd is rejected, with the right that it needs, and accepted from who has it", async () => {
  for (const [field, right, wish, by] of NEEDED) {
    const refused = await said(by === "reader" ? reader : tenant, wish);
    assert.ok(
      refused.includes(`spec.${field} needs the right to ${right} in namespace default, because `),
      `${wish.plural} ${field}: ${refused || "accepted"}`,
    );
    assert.match(refused, /system:serviceaccount:default:(tenant|reader) does not have it/);
    assert.equal(await said(editor, wish), "", `${wish.plural} ${field}`);
    assert.equal(await said(bed.client, wish), "", `${wish.plural} ${field}`);
  }
});

test("what stays within etcd needs no further right", async () => {
  const strong = { runAsNonRoot: true, runAsUser: 1001, seccompProfile: { type: "RuntimeDefault" } };
  for (const wish of [
    cluster({}),
    cluster({ tls: { mode: "Disabled" }, storage: { medium: "Memory" }, options: { logLevel: "Debug" } }),
    cluster({ image: { repository: "gcr.io/etcd-development/etcd", digest: `sha256:${"a".repeat(64)}` } }),
    cluster({ pod: { securityContext: strong, env: [{ name: "GODEBUG", value: "x509sha1=1" }] } }),
  ])
    assert.equal(await said(tenant, wish), "");
});

test("the right to get the one Secret is enough to name it, and no other", async () => {
  assert.equal(await said(reader, snapshot({ destination: STORE })), "");
  const other = { s3: { bucket: "backups", credentialsSecret: "other" } };
  assert.match(await said(reader, snapshot({ destination: other })), /destination\.s3\.credentialsSecret/);
});

test("who may not create Services does not open one further that an administrator has opened", async () => {
  const path = `${OURS}/etcdclusters`;
  const service = {
    type: "LoadBalancer",
    loadBalancerSourceRanges: ["10.0.0.0/8"],
    annotations: { internal: "true" },
  };
  await editor.create(path, cluster({ replicas: 1, service }, "open").object);
  const patch = (spec: object) => refusal(tenant.patch(`${path}/open`, { spec }));
  assert.match(await patch({ service: { loadBalancerSourceRanges: [] } }), /spec\.service needs the right/);
  assert.match(await patch({ service: { annotations: null } }), /spec\.service needs the right/);
  assert.equal(await patch({ replicas: 3 }), "");
  await editor.delete(`${path}/open`);
});

test("who may not set a field may change the rest, and take the field away", async () => {
  const path = `${OURS}/etcdclusters`;
  const pod = { sidecars: [SIDECAR], env: [SECRET_KEY], labels: { app: "payments" } };
  await editor.create(path, cluster({ replicas: 1, pod }, "mixed").object);
  const mixed = `${path}/mixed`;
  await tenant.patch(mixed, { spec: { replicas: 3 } });
  await tenant.patch(mixed, { spec: { pod: { env: [SECRET_KEY, { name: "GODEBUG", value: "a=1" }] } } });
  await tenant.patch(`${mixed}/scale`, { spec: { replicas: 5 } });
  const changed = { ...SIDECAR, image: "registry.example/mine:1" };
  assert.match(
    await refusal(tenant.patch(mixed, { spec: { pod: { sidecars: [changed] } } })),
    /spec\.pod\.sidecars needs the right to create Pods/,
  );
  await tenant.patch(mixed, { spec: { pod: { sidecars: [] } } });
  await bed.client.delete(mixed);
});

test("credentials of a store are used by whoever changes where they are sent", async () => {
  const path = `${OURS}/etcdsnapshotschedules`;
  await reader.create(path, exampleSchedule({ destination: STORE }, "nightly"));
  await tenant.patch(`${path}/nightly`, { spec: { suspend: true } });
  const elsewhere = { destination: { s3: { endpoint: "https://store.example" } } };
  assert.match(
    await refusal(tenant.patch(`${path}/nightly`, { spec: elsewhere })),
    /spec\.destination\.s3\.credentialsSecret needs the right to get this Secret/,
  );
  await reader.patch(`${path}/nightly`, { spec: elsewhere });
  // What the operator makes of it.
  assert.equal(await said(operator, snapshot({ destination: STORE })), "");
  await bed.client.delete(`${path}/nightly`);
});

const INSECURE: readonly [says: RegExp, spec: object][] = [
  [/plaintext client connections are not allowed: set spec\.tls\.mode/, { tls: { mode: "Disabled" } }],
  [/plaintext peer connections are not allowed/, { tls: { peer: { mode: "Disabled" } } }],
  [/clients without a certificate are not allowed/, { tls: { clientAuth: "None" } }],
  [/run as root are not allowed/, { storage: { medium: "HostPath", hostPath: "/data" } }],
  [/run as root are not allowed/, { pod: { securityContext: { runAsUser: 0 } } }],
  [
    /sidecars that run as root or privileged/,
    { pod: { sidecars: [{ ...SIDECAR, securityContext: { privileged: true } }] } },
  ],
  [
    /sidecars that run as root or privileged/,
    { pod: { sidecars: [{ ...SIDECAR, securityContext: { runAsUser: 0 } }] } },
  ],
];

test("a namespace that is labelled for it takes no plaintext, no clients without a certificate and no root", async () => {
  const labels = { "etcd.quorate.dev/secure-defaults": "enforce" };
  await bed.client.create("/api/v1/namespaces", { metadata: { name: "strict" } });
  const path = `/apis/${API_VERSION}/namespaces/strict/etcdclusters`;
  const plain = { replicas: 1, tls: { mode: "Disabled" } };
  await bed.client.create(path, cluster(plain, "before").object);
  await bed.client.patch("/api/v1/namespaces/strict", { metadata: { labels } });
  for (const [says, spec] of INSECURE) {
    const wish = cluster(spec);
    await eventually(`${says} for ${JSON.stringify(spec)}`, async () => {
      const refused = await said(bed.client, wish, "strict");
      assert.match(refused, says);
      assert.match(refused, /Secure defaults are enforced in namespace strict/);
      return true;
    });
    assert.equal(await said(bed.client, wish), "", "not elsewhere");
  }
  const strong = { securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } } };
  for (const spec of [{}, { pod: { ...strong, sidecars: [SIDECAR] } }])
    assert.equal(await said(bed.client, cluster(spec), "strict"), "");
  // One from before can be scaled, and made secure.
  await bed.client.patch(`${path}/before`, { spec: { replicas: 3 } });
  await operator.patch(`${path}/before`, { metadata: { annotations: { "example.com/mark": "1" } } });
  const asRoot = { spec: { pod: { securityContext: { runAsUser: 0 } } } };
  assert.match(await refusal(bed.client.patch(`${path}/before`, asRoot)), /run as root are not allowed/);
  await bed.client.delete(`${path}/before`);
});
