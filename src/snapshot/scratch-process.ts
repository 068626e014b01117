/**
 * The scratch etcd as a child process on loopback: restored from a snapshot by the etcdutl of its minor version without
 * raising the revision, used, and ended. In a Pod containers do the same (verification.ts).
 */
import { createServer, type AddressInfo } from "node:net";
import path from "node:path";
import { EtcdClient } from "../etcd/client.ts";
import { runEtcdutl } from "../etcd/etcdutl.ts";
import { GrpcTransport } from "../etcd/grpc/transport.ts";
import type { InstalledEtcd } from "../etcd/install/ensure.ts";
import { EtcdProcess, type ProcessWorld } from "../etcd/process.ts";
import type { Pki } from "../seams/pki.ts";
import { issueCertificates, scratchEtcd, scratchRestore, type Scratch } from "./scratch.ts";

export interface ScratchOptions {
  /** With the plain snapshot (`SNAPSHOT_NAME`), checked already; the caller removes it. */
  readonly directory: string;
  readonly etcd: InstalledEtcd;
  readonly pki: Pki;
  readonly world: ProcessWorld;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  /** Further flags of etcd. */
  readonly flags?: readonly string[];
}

/** Reading a large database into memory takes its time. */
const START_TIMEOUT_MS = 300_000;

/** Restores, starts and stops; what `use` gets may do everything, since it is "root". */
export async function withScratchEtcd<T>(
  options: ScratchOptions,
  use: (client: EtcdClient, endpoint: { name: string; url: string }) => Promise<T>,
): Promise<T> {
  const { etcd, world, directory, signal } = options;
  if (etcd.etcdutl === undefined)
    throw new Error(
      `etcd ${etcd.version} has no etcdutl, so its snapshots cannot be restored; use 3.5 or later`,
    );
  const [clientPort, peerPort] = await freePorts();
  const url = `https://127.0.0.1:${clientPort}`;
  const scratch: Scratch = { directory, clientURL: url, peerURL: `http://127.0.0.1:${peerPort}` };
  await runEtcdutl(
    { binary: etcd.etcdutl, version: etcd.version, env: options.env, signal },
    scratchRestore(scratch, etcd.version),
  );
  const tls = await issueCertificates(scratch, { pki: options.pki, disk: world.disk });
  const process = await EtcdProcess.start(world, {
    binary: etcd.etcd,
    args: [...scratchEtcd(scratch), ...(options.flags ?? [])],
    env: { PATH: options.env["PATH"], HOME: directory },
    cwd: directory,
    log: path.join(directory, "etcd.log"),
  });
  const transport = new GrpcTransport({ clock: world.clock, tls });
  try {
    const endpoint = { name: "scratch", url };
    const client = new EtcdClient({ transport, clock: world.clock, endpoints: [endpoint] });
    const serves = async (limit: AbortSignal) => {
      await client.kv.get("\0", { timeoutMs: 2_000, signal: limit });
      return true;
    };
    await process.ready(serves, { timeoutMs: START_TIMEOUT_MS, signal });
    return await use(client, endpoint);
  } finally {
    await transport.close();
    await process.kill();
  }
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
