/**
 * Rendered Pods on a real node: etcd starts as the user, on the file systems and with the rights that they name, the
 * kubelet's probes find it ready, and members accept each other's certificates by the names in them (R46).
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Pod } from "kubernetes-types/core/v1.d.ts";
import type { MemberRecord } from "../../../src/core/record.ts";
import { templateFor } from "../../../src/core/template/template.ts";
import { specOf } from "../../../src/core/testing/cluster.ts";
import { viewOf } from "../../../src/core/view.ts";
import { pathOf, pods, resource, services } from "../../../src/kube/resources.ts";
import { certificateNames, hostOf, memberAddress } from "../../../src/operator/names.ts";
import { memberClaim } from "../../../src/operator/render/claim.ts";
import { configFile, FILES } from "../../../src/operator/render/config.ts";
import { memberPod } from "../../../src/operator/render/pod.ts";
import { memberSecret } from "../../../src/operator/render/secret.ts";
import { clusterServices, peerService } from "../../../src/operator/render/services.ts";
import { clusterWith, type Wish } from "../../../src/operator/testing/rendered.ts";
import { createPki } from "../../../src/pki/issue.ts";
import { CA_LIFE_MS, LEAF_LIFE_MS, USAGES } from "../../../src/pki/plan.ts";
import { memberSans } from "../../../src/pki/sans.ts";
import { systemClock } from "../../../src/seams/clock.ts";
import type { KeyPair } from "../../../src/seams/pki.ts";
import { systemRandom } from "../../../src/seams/random.ts";
import { eventually } from "../../../testbed/eventually.ts";
import { upForTests, type TestTestbed } from "../../../testbed/for-tests.ts";
import { kubectl } from "../../testbed/on-nodes/support.ts";

const PATIENCE = { withinMs: 120_000, everyMs: 300 };
const claims = resource("v1", "PersistentVolumeClaim", "persistentvolumeclaims");
const secrets = resource("v1", "Secret", "secrets");
const pki = createPki(systemClock, systemRandom);

let bed: TestTestbed;

before(async () => {
  bed = await upForTests({ nodes: 1 });
  for (const level of ["restricted", "privileged"]) {
    const labels = { "pod-security.kubernetes.io/enforce": level };
    await bed.client.create("/api/v1/namespaces", { metadata: { name: level, labels } });
    await eventually(`the account of ${level}`, () =>
      bed.client.get(`/api/v1/namespaces/${level}/serviceaccounts/default`),
    );
  }
});

after(async () => {
  await bed?.down();
});

interface Founding {
  readonly name: string;
  readonly namespace: string;
  readonly size: number;
  readonly wish: Wish;
}

/** The objects of a cluster's first boot, made as they are rendered. */
async function found({ name, namespace, size, wish }: Founding): Promise<Pod[]> {
  const options = { quotaBackendBytes: "64Mi" };
  const spec = specOf({ options, ...wish, storage: { size: "512Mi", ...wish.storage } });
  const uid = `uid-of-${name}`;
  const view = clusterWith(spec, { name, namespace, uid });
  const { cluster } = view.observation;
  const records = Array.from({ length: size }, (_, i): MemberRecord => ({
    name: `${name}-${i + 1}`,
    ordinal: i + 1,
    uid: `${uid}-${i + 1}`,
    resourceVersion: "1",
    createdAt: 0,
    role: "Voter",
    token: uid,
    boot: "New",
    address: memberAddress(cluster, i + 1, "Service"),
    initialCluster: [],
    joined: false,
    run: true,
    template: templateFor(spec, spec.version),
  }));
  const initialCluster = records.map((record) => ({ name: record.name, peerURL: record.address.peerURL }));
  const authorities = { client: await newCa("client"), peer: await newCa("peer") };
  const place = (kind: typeof secrets) => pathOf(kind, { namespace });
  for (const service of clusterServices(viewOf(view.observation)))
    await bed.client.create(place(services), withoutOwner(service));
  for (const record of records)
    await bed.client.create(place(services), withoutOwner(peerService(cluster, record.name)));
  for (const record of records) {
    const founder = { ...record, initialCluster };
    const leaf = (plane: "client" | "peer") => newLeaf(authorities[plane], cluster, record, plane);
    const files = {
      [FILES.config]: configFile(founder, false),
      [FILES.serverPem]: await leaf("client"),
      [FILES.gatewayPem]: await leaf("client"),
      [FILES.peerPem]: await leaf("peer"),
      [FILES.peerClientPem]: await leaf("peer"),
      [FILES.clientCA]: authorities.client.certificate,
      [FILES.peerCA]: authorities.peer.certificate,
    };
    await bed.client.create(place(secrets), withoutOwner(memberSecret(cluster, founder, files)));
    if (spec.storage.medium === "Persistent")
      await bed.client.create(place(claims), memberClaim(cluster, founder));
    const pod = memberPod(cluster, founder, { role: "voter", gated: false });
    await bed.client.create(place(pods), withoutOwner(pod));
  }
  return await ready(namespace, name, size);
}

/** Its owners exist in these tests as little as their UIDs do, and the server would collect what they own. */
function withoutOwner<T extends { metadata?: object }>(object: T): T {
  return { ...object, metadata: { ...object.metadata, ownerReferences: [] } };
}

const newCa = (commonName: string) => pki.issueCa({ commonName, lifeMs: CA_LIFE_MS });

async function newLeaf(
  ca: KeyPair,
  cluster: { name: string; namespace: string },
  record: MemberRecord,
  plane: "client" | "peer",
): Promise<string> {
  const { sans, refused } = memberSans(certificateNames(cluster, record, plane));
  assert.deepEqual(refused, []);
  const leaf = { commonName: record.name, sans, usages: USAGES.peer, lifeMs: LEAF_LIFE_MS };
  const { certificate, key } = await pki.issueLeaf({ ca, leaf });
  return certificate + key;
}

async function ready(namespace: string, cluster: string, size: number): Promise<Pod[]> {
  const selector = encodeURIComponent(`etcd.quorate.dev/cluster=${cluster}`);
  return await eventually(
    `${size} ready members of ${cluster}`,
    async () => {
      const path = `${pathOf(pods, { namespace })}?labelSelector=${selector}`;
      const { items } = await bed.client.get<{ items: Pod[] }>(path);
      const states = items.map(({ metadata, status }) => ({
        name: metadata?.name,
        ready: status?.conditions?.find(({ type }) => type === "Ready")?.status,
        state: status?.containerStatuses?.[0]?.state,
        last: status?.containerStatuses?.[0]?.lastState?.terminated?.message?.slice(-400),
      }));
      if (states.length === size && states.every((one) => one.ready === "True")) return items;
      throw new Error(JSON.stringify(states));
    },
    PATIENCE,
  );
}

/** What `etcdctl` in the member's own container says, through the certificates that are mounted there. */
async function etcdctl(namespace: string, cluster: string, ...args: string[]): Promise<string> {
  const member = `${cluster}-1`;
  const endpoint = `https://${hostOf({ name: cluster, namespace }, member)}:2379`;
  const at = (file: string) => `/etc/etcd/${file}`;
  const tls = [
    `--cacert=${at(FILES.clientCA)}`,
    `--cert=${at(FILES.serverPem)}`,
    `--key=${at(FILES.serverPem)}`,
  ];
  const command = ["etcdctl", `--endpoints=${endpoint}`, ...tls, ...args];
  // A name that was asked for too early stays unknown for seconds, on this node too.
  return await eventually(
    `etcdctl ${args.join(" ")}`,
    async () => {
      const done = await kubectl(bed.name, "-n", namespace, "exec", member, "-c", "etcd", "--", ...command);
      assert.equal(done.code, 0, done.out);
      return done.out;
    },
    PATIENCE,
  );
}

for (const version of ["3.5.35", "3.6.16"]) {
  test(`R46: three members of ${version} find and accept each other by name, as users without rights`, async (t) => {
    const [name, namespace] = [`three-${version.replaceAll(".", "-")}`, "restricted"];
    const started = Date.now();
    const members = await found({ name, namespace, size: 3, wish: { version, replicas: 3 } });
    t.diagnostic(`ready after ${((Date.now() - started) / 1000).toFixed(1)} s`);
    assert.deepEqual(
      members.map(({ status }) => status?.containerStatuses?.[0]?.restartCount),
      [0, 0, 0],
    );
    await etcdctl(namespace, name, "put", "a", "b");
    assert.match(await etcdctl(namespace, name, "get", "a"), /^a\nb/);
    const list = await etcdctl(namespace, name, "member", "list");
    assert.equal(list.split("\n").filter((line) => line.includes("started")).length, 3);
  });
}

const MEDIA: Readonly<Record<string, Wish>> = {
  memory: { storage: { medium: "Memory" } },
  ephemeral: { storage: { medium: "Ephemeral" } },
  "host-path": { storage: { medium: "HostPath", hostPath: "/var/lib/quorate-test" } },
};

for (const [name, wish] of Object.entries(MEDIA)) {
  test(`a member starts and writes with medium ${wish.storage?.medium}`, async () => {
    const namespace = name === "host-path" ? "privileged" : "restricted";
    await found({ name, namespace, size: 1, wish: { version: "3.6.16", replicas: 1, ...wish } });
    await etcdctl(namespace, name, "put", "a", "b");
  });
}
