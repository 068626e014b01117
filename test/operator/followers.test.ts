/**
 * Changes that a schedule records, on a real API server and real etcd, with users and whatever certificates clients need:
 * points between snapshots are built by revision and by time, and restored as a new cluster and in place.
 */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Pod, Secret } from "kubernetes-types/core/v1.d.ts";
import type { EtcdSnapshotSchedule } from "../../src/api/etcd-snapshot-schedule.ts";
import type { EtcdSnapshot, EtcdSnapshotSpec, EtcdSnapshotStatus } from "../../src/api/etcd-snapshot.ts";
import { API_VERSION } from "../../src/api/metadata.ts";
import type { SnapshotPhase } from "../../src/api/status-words.ts";
import { EtcdClient } from "../../src/etcd/client.ts";
import { GrpcTransport } from "../../src/etcd/grpc/transport.ts";
import { createPki } from "../../src/pki/issue.ts";
import { systemClock } from "../../src/seams/clock.ts";
import { systemRandom } from "../../src/seams/random.ts";
import type { KubeObject } from "../../testbed/client.ts";
import { eventually } from "../../testbed/eventually.ts";
import type { TestTestbed } from "../../testbed/for-tests.ts";
import { CERT_MANAGER, CertManager } from "../support/cert-manager.ts";
import { PATHS } from "../support/kube-paths.ts";
import {
  ClusterOnBed,
  PATIENCE_MS,
  startOperator,
  upWithDefinitions,
  type Running,
} from "../support/operator.ts";
import { ownImage } from "../support/own-image.ts";
import { sampled } from "../support/sample.ts";
import { S3Server } from "../support/versitygw.ts";

const PATIENCE = { withinMs: PATIENCE_MS, everyMs: 100 };
const DAY = 86_400_000;
const pki = createPki(systemClock, systemRandom);

let bed: TestTestbed;
let running: Running;
let server: S3Server;
let certManager: CertManager | undefined;

before(async () => {
  bed = await upWithDefinitions();
  running = startOperator(bed, ownImage(bed));
  server = await S3Server.start({ buckets: ["backups"], host: "127.0.0.2" });
  const { AWS_ACCESS_KEY_ID = "", AWS_SECRET_ACCESS_KEY = "" } = server.env;
  await secret("store", { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY });
});

after(async () => {
  await running?.stop();
  await certManager?.[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
  await bed?.down();
});

async function secret(name: string, stringData: Record<string, string>, type = "Opaque"): Promise<void> {
  const object = { apiVersion: "v1", kind: "Secret", metadata: { name }, type, stringData };
  await bed.client.create(PATHS.secrets, object as KubeObject);
}

const auth = { enabled: true, clientRoles: ["root"] };

interface Mode {
  /** What the cluster has in its spec, once what that names is there. */
  readonly spec: (name: string) => Promise<object>;
  /** The Secret that a client of this mode has, where the status names none. */
  readonly client?: string;
}

/** The last one is that of `npm test`. */
const MODES: Readonly<Record<string, Mode>> = {
  Disabled: { spec: () => Promise.resolve({ tls: { mode: "Disabled" } }) },
  Secrets: { spec: ofSecrets, client: "my-operator" },
  CertManager: { spec: ofCertManager },
  Managed: { spec: () => Promise.resolve({ auth }) },
};

/** Certificates of a CA of the user's, which the operator's client shows with its own name. */
async function ofSecrets(name: string): Promise<object> {
  const ca = await pki.issueCa({ commonName: "Our company", lifeMs: 100 * DAY });
  const dns = [`${name}-client.default.svc`, `*.${name}-peers.default.svc`, "*.default.svc"];
  const members = { sans: { dns, ips: ["127.0.0.1"] }, usages: ["serverAuth", "clientAuth"] as const };
  const client = { sans: { dns: [], ips: [] }, usages: ["clientAuth"] as const };
  for (const [commonName, one, rest] of [
    ["server", "my-server", members],
    ["peer", "my-peer", members],
    ["quorate-operator", "my-operator", client],
  ] as const) {
    const { certificate, key } = await pki.issueLeaf({
      ca,
      leaf: { commonName, lifeMs: 30 * DAY, ...rest },
    });
    await secret(one, { "tls.crt": certificate, "tls.key": key, "ca.crt": ca.certificate });
  }
  const secrets = { server: "my-server", operator: "my-operator" };
  return { auth, tls: { mode: "Secrets", client: { secrets }, peer: { secrets: { member: "my-peer" } } } };
}

async function ofCertManager(): Promise<object> {
  certManager = await CertManager.start(bed);
  const { certificate, key } = await pki.issueCa({ commonName: "Our company", lifeMs: 100 * DAY });
  await secret("company-ca", { "tls.crt": certificate, "tls.key": key }, "kubernetes.io/tls");
  await bed.client.create(`${CERT_MANAGER}/issuers`, {
    apiVersion: "cert-manager.io/v1",
    kind: "Issuer",
    metadata: { name: "company" },
    spec: { ca: { secretName: "company-ca" } },
  });
  const by = { name: "company" };
  const client = { certManager: { server: by, operator: by } };
  return { auth, tls: { mode: "CertManager", client, peer: { certManager: { member: by } } } };
}

/** As somebody with these certificates makes one. */
async function connected(cluster: ClusterOnBed, given: string | undefined): Promise<EtcdClient> {
  if (given === undefined) return await cluster.etcd();
  const { data } = await bed.client.get<Secret>(`${PATHS.secrets}/${given}`);
  const text = (file: string) => Buffer.from(data?.[file] ?? "", "base64").toString();
  const tls = { ca: text("ca.crt"), cert: text("tls.crt"), key: text("tls.key") };
  const transport = new GrpcTransport({ clock: systemClock, tls });
  transports.push(transport);
  const endpoints = (await cluster.endpoints()).map((endpoint) => ({
    ...endpoint,
    url: endpoint.url.replace("http:", "https:"),
    serverName: `${endpoint.name}.${cluster.name}-peers.default.svc`,
  }));
  return new EtcdClient({ transport, clock: systemClock, endpoints });
}

const transports: GrpcTransport[] = [];

/** All that etcd tells of all keys. */
async function dumpOf({ kv }: EtcdClient): Promise<string[]> {
  const { kvs } = await kv.range("\0", { rangeEnd: "\0", timeoutMs: 10_000 });
  return kvs.map(({ key, value, createRevision, modRevision, version, lease }) =>
    [Buffer.from(key), Buffer.from(value), createRevision, modRevision, version, lease].map(String).join(" "),
  );
}

/** What the follower has told the store last. */
function recorded(prefix: string): { revision: number; time: string } | undefined {
  const changes = join(server.dir, "data/backups", prefix, "changes");
  const [cluster = ""] = existsSync(changes) ? readdirSync(changes) : [];
  const file = join(changes, cluster, "live.json");
  if (!existsSync(file)) return undefined;
  const text = readFileSync(file, "utf8");
  return text.endsWith("\n") ? (JSON.parse(text) as { revision: number; time: string }) : undefined;
}

async function becomes(name: string, phase: SnapshotPhase): Promise<EtcdSnapshotStatus> {
  return await eventually(
    `snapshot ${name} is ${phase}`,
    async () => {
      const { status = {} } = await bed.client.get<EtcdSnapshot>(`${PATHS.snapshots}/${name}`);
      if (status.phase === phase) return status;
      throw new Error(`${status.phase} (${status.reason}): ${status.message}`);
    },
    PATIENCE,
  );
}

for (const [mode, { spec, client: given }] of sampled(Object.entries(MODES)))
  test(`TLS ${mode}: changes are recorded; a point is built by revision and by time, and restored as a new cluster and in place`, async () => {
    const name = mode.toLowerCase();
    const cluster = new ClusterOnBed(bed, name, running);
    const asked = { replicas: 1, ...(await spec(name)) };
    await cluster.create(asked);
    await cluster.converged(1);
    if ("auth" in asked) await cluster.waitFor("AuthReady");
    const destination = {
      s3: { bucket: "backups", prefix: name, endpoint: server.endpoint, credentialsSecret: "store" },
    };
    const path = `${PATHS.schedules}/${name}`;
    await bed.client.create(PATHS.schedules, {
      apiVersion: API_VERSION,
      kind: "EtcdSnapshotSchedule",
      metadata: { name },
      spec: { cluster: name, schedule: "@yearly", destination, incremental: { interval: "1s" } },
    } as KubeObject);
    const { follower = "" } = await eventually(
      "the follower begins with a snapshot",
      async () => {
        const { status } = await bed.client.get<EtcdSnapshotSchedule>(path);
        if (status?.incremental?.reason === "Following") return status.incremental;
        throw new Error(`${JSON.stringify(status?.incremental)}; ${running.log.slice(-3).join("\n")}`);
      },
      PATIENCE,
    );
    const { spec: pod } = await bed.client.get<Pod & KubeObject>(`${PATHS.pods}/${follower}`);
    assert.deepEqual(
      [pod?.serviceAccountName, pod?.automountServiceAccountToken],
      ["quorate-snapshot", false],
    );

    const etcd = await connected(cluster, given);
    const { id: lease } = await etcd.lease.grant(3_600);
    for (let i = 0; i < 10; i++) await etcd.kv.put(`key/${i}`, `first ${i}`);
    await etcd.kv.put("key/1", "leased", { lease });
    const { header } = await etcd.kv.delete("key/3");
    const wanted = await dumpOf(etcd);
    const reaches = async (revision: bigint) =>
      await eventually(
        `revision ${revision} is in the store`,
        () => {
          const live = recorded(name);
          return live !== undefined && live.revision >= revision && live;
        },
        PATIENCE,
      );
    const { time } = await reaches(header.revision);
    const { header: last } = await etcd.kv.put("key/4", "a mistake");
    await reaches(last.revision);

    const take = async (point: string, pointInTime: EtcdSnapshotSpec["pointInTime"]) =>
      await bed.client.create(PATHS.snapshots, {
        apiVersion: API_VERSION,
        kind: "EtcdSnapshot",
        metadata: { name: `${name}-${point}` },
        spec: { cluster: name, destination, pointInTime },
      } as KubeObject);
    await take("revision", { revision: Number(header.revision) });
    await take("time", { time });
    await take("beyond", { revision: Number(last.revision) + 1_000 });
    for (const point of ["revision", "time"]) {
      const built = await becomes(`${name}-${point}`, "Succeeded");
      assert.equal(BigInt(built.revision ?? 0), header.revision, `${point}: ${built.message}`);
    }
    const { reason, message } = await becomes(`${name}-beyond`, "Failed");
    assert.equal(reason, "PointUnreachable", message);

    const copy = new ClusterOnBed(bed, `${name}-copy`, running);
    // Whatever guards the original: only the data is looked at.
    await copy.create({
      replicas: 1,
      ...("auth" in asked && { auth }),
      bootstrap: { restore: { snapshot: `${name}-revision`, revisionBump: "None" } },
    });
    await copy.converged(1);
    assert.deepEqual(await dumpOf(await copy.etcd()), wanted);
    await copy.close();
    await copy.delete();

    const restore = { pointInTime: { time, schedule: name } };
    await cluster.ask(`${name}-plan`, { restore });
    const { message: plan = "" } = await cluster.operationIs(`${name}-plan`, "Rejected");
    const approve = /approve: ([0-9a-f]{16})/.exec(plan)?.[1] ?? "";
    await cluster.ask(`${name}-restore`, { restore: { ...restore, approve } });
    await cluster.operationIs(`${name}-restore`, "Succeeded");
    const { items } = await bed.client.get<KubeObject & { items: EtcdSnapshot[] }>(PATHS.snapshots);
    const built = items.find(({ metadata }) => metadata.name.startsWith(`${name}-point-`));
    if (built) await cluster.gone(`${PATHS.snapshots}/${built.metadata.name}`);
    await cluster.converged(1);
    const back = await connected(cluster, given);
    assert.deepEqual(await dumpOf(back), wanted, "keys with their revisions, versions and leases");
    assert.equal((await back.lease.timeToLive(lease)).grantedTtl, 3_600);
    assert.ok((await back.kv.put("since", "x")).header.revision > last.revision + 1_000_000_000n);
    for (const transport of transports.splice(0)) await transport.close();
    await bed.client.delete(path);
    await cluster.gone(`${PATHS.pods}/${follower}`);
    await cluster.close();
    await cluster.delete();
  });
