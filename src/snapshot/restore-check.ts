/**
 * Proves a snapshot by using it: restores it with the etcdutl of its own minor version, without raising the revision,
 * starts an etcd on loopback from it, and compares revision, keys and hash with what was recorded. The scratch etcd
 * trusts a throw-away CA, and its one client is "root", so that data with authentication on answers too (R55).
 */
import { createServer, type AddressInfo } from "node:net";
import path from "node:path";
import { EtcdClient } from "../etcd/client.ts";
import * as etcdutl from "../etcd/etcdutl.ts";
import { GrpcTransport } from "../etcd/grpc/transport.ts";
import type { InstalledEtcd } from "../etcd/install/ensure.ts";
import { EtcdProcess, type ProcessWorld } from "../etcd/process.ts";
import type { TlsCredentials } from "../etcd/types.ts";
import type { Pki } from "../seams/pki.ts";
import { SnapshotDamaged } from "./inspect.ts";
import type { DatabaseFacts } from "./bolt/resolve.ts";
import type { HashKvRecord } from "./manifest.ts";

export interface RestoreCheckOptions {
  /** A plain snapshot, checked already. */
  readonly file: string;
  /** An empty directory for this check alone; the caller removes it. */
  readonly scratch: string;
  readonly etcd: InstalledEtcd;
  readonly database: DatabaseFacts;
  readonly hashKv?: HashKvRecord | undefined;
  readonly pki: Pki;
  readonly world: ProcessWorld;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
}

export interface RestoreCheck {
  readonly etcdVersion: string;
  /** From the snapshot file to an etcd that answers. */
  readonly restoreMs: number;
  readonly revision: number;
  readonly totalKeys: number;
  readonly hash: number;
  /** Whether the hash could be compared with one that the source recorded at the same compaction. */
  readonly hashCompared: boolean;
}

const HOUR = 3_600_000;
/** Reading a large database into memory takes its time. */
const START_TIMEOUT_MS = 300_000;

export async function checkByRestoring(options: RestoreCheckOptions): Promise<RestoreCheck> {
  const { etcd, world, scratch, signal } = options;
  if (etcd.etcdutl === undefined)
    throw new Error(
      `etcd ${etcd.version} has no etcdutl, so its snapshots cannot be restored; use 3.5 or later`,
    );
  const began = world.clock.monotonic();
  const [client, peer] = await freePorts();
  const peerUrl = `http://127.0.0.1:${peer}`;
  const url = `https://127.0.0.1:${client}`;
  const dataDir = path.join(scratch, "data");
  await etcdutl.snapshotRestore(
    { binary: etcd.etcdutl, version: etcd.version, env: options.env, signal },
    {
      snapshot: options.file,
      dataDir,
      name: "scratch",
      peerUrls: [peerUrl],
      initialCluster: [`scratch=${peerUrl}`],
      token: "quorate-verify",
    },
  );
  const { tls, flags } = await certificates(options);
  const process = await EtcdProcess.start(world, {
    binary: etcd.etcd,
    args: [
      "--name=scratch",
      `--data-dir=${dataDir}`,
      `--listen-client-urls=${url}`,
      `--advertise-client-urls=${url}`,
      `--listen-peer-urls=${peerUrl}`,
      `--initial-advertise-peer-urls=${peerUrl}`,
      `--initial-cluster=scratch=${peerUrl}`,
      "--auto-compaction-retention=0",
      ...flags,
    ],
    env: { PATH: options.env["PATH"], HOME: scratch },
    cwd: scratch,
    log: path.join(scratch, "etcd.log"),
  });
  const transport = new GrpcTransport({ clock: world.clock, tls });
  try {
    const endpoint = { name: "scratch", url };
    const reader = new EtcdClient({ transport, clock: world.clock, endpoints: [endpoint] });
    const serves = async (limit: AbortSignal) => {
      await reader.kv.get("\0", { timeoutMs: 2_000, signal: limit });
      return true;
    };
    await process.ready(serves, { timeoutMs: START_TIMEOUT_MS, signal });
    const restoreMs = world.clock.monotonic() - began;
    return { etcdVersion: etcd.version, restoreMs, ...(await compare(reader, endpoint, options)) };
  } finally {
    await transport.close();
    await process.kill();
  }
}

async function compare(
  reader: EtcdClient,
  endpoint: { name: string; url: string },
  { database, hashKv, signal }: RestoreCheckOptions,
): Promise<Pick<RestoreCheck, "revision" | "totalKeys" | "hash" | "hashCompared">> {
  const limits = { timeoutMs: 120_000, signal };
  const latest = await reader.maintenance.hashKv(endpoint, 0n, limits);
  const compactRevision = Number(latest.compactRevision);
  // Where the latest changes were deletions, compaction leaves no trace of them but its own revision.
  const expected = Math.max(1, database.revision, compactRevision);
  const revision = Number(latest.header.revision);
  // It may be ahead by now: leases that were about to expire have expired here too.
  if (revision < expected) throw differs("revision", revision, expected);
  const past = { ...limits, revision: BigInt(expected), rangeEnd: "\0", countOnly: true };
  const all = await reader.kv.range("\0", past);
  if (database.totalKeys !== undefined && all.count !== database.totalKeys)
    throw differs("number of keys", all.count, database.totalKeys);
  const hash = await reader.maintenance.hashKv(endpoint, BigInt(expected), limits);
  // Hashes compare only at equal compactions.
  const hashCompared = hashKv?.compactRevision === compactRevision && hashKv.revision === expected;
  if (hashKv !== undefined && hashCompared && hash.hash !== hashKv.hash)
    throw differs(`hash of the keys at revision ${expected}`, hash.hash, hashKv.hash);
  return { revision: expected, totalKeys: all.count, hash: hash.hash, hashCompared };
}

function differs(what: string, found: number, recorded: number): SnapshotDamaged {
  return new SnapshotDamaged(
    `after a restore its ${what} is ${found}, and ${recorded} was recorded. Use another snapshot.`,
  );
}

/** For an etcd on loopback that only we can talk to: a CA of its own, and "root" as its one client (R55). */
export async function certificates({
  pki,
  scratch,
  world,
}: Pick<RestoreCheckOptions, "pki" | "scratch" | "world">): Promise<{
  tls: TlsCredentials;
  flags: string[];
}> {
  const ca = await pki.issueCa({ commonName: "quorate snapshot verify", lifeMs: 24 * HOUR });
  const issue = (commonName: string, server: boolean) =>
    pki.issueLeaf({
      ca,
      leaf: {
        commonName,
        sans: { dns: [], ips: server ? ["127.0.0.1"] : [] },
        usages: server ? ["serverAuth", "clientAuth"] : ["clientAuth"],
        lifeMs: 24 * HOUR,
      },
    });
  const server = await issue("scratch", true);
  const root = await issue("root", false);
  const files = { "ca.pem": ca.certificate, "server.pem": server.certificate, "server-key.pem": server.key };
  for (const [name, text] of Object.entries(files))
    await world.disk.write(path.join(scratch, name), text, { private: true });
  return {
    tls: { ca: ca.certificate, cert: root.certificate, key: root.key },
    flags: [
      `--trusted-ca-file=${path.join(scratch, "ca.pem")}`,
      `--cert-file=${path.join(scratch, "server.pem")}`,
      `--key-file=${path.join(scratch, "server-key.pem")}`,
      "--client-cert-auth=true",
    ],
  };
}

/** Two at once, so that they differ. */
export async function freePorts(): Promise<[number, number]> {
  const servers = [createServer(), createServer()] as const;
  const [first, second] = await Promise.all(
    servers.map(
      (server) =>
        new Promise<number>((resolve, reject) => {
          server.once("error", reject);
          server.listen({ host: "127.0.0.1", port: 0 }, () =>
            resolve((server.address() as AddressInfo).port),
          );
        }),
    ),
  );
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return [first ?? 0, second ?? 0];
}
