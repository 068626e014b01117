/**
 * Proves a snapshot by using it: restores it with the etcdutl of its own minor version, without raising the revision,
 * starts an etcd on loopback from it, and compares revision, keys and hash with what was recorded. In a Pod the same is
 * done by containers (verification.ts).
 */
import { createServer, type AddressInfo } from "node:net";
import path from "node:path";
import { EtcdClient } from "../etcd/client.ts";
import { runEtcdutl } from "../etcd/etcdutl.ts";
import { GrpcTransport } from "../etcd/grpc/transport.ts";
import type { InstalledEtcd } from "../etcd/install/ensure.ts";
import { EtcdProcess, type ProcessWorld } from "../etcd/process.ts";
import type { TlsCredentials } from "../etcd/types.ts";
import type { Pki } from "../seams/pki.ts";
import { compareRestored, type Compared, type Recorded } from "./compare.ts";
import { issueCertificates, scratchEtcd, scratchRestore, tlsFlags, type Scratch } from "./scratch.ts";

export interface RestoreCheckOptions extends Recorded {
  /** A directory for this check alone, with the plain snapshot (`SNAPSHOT_NAME`), checked already; the caller removes it. */
  readonly directory: string;
  readonly etcd: InstalledEtcd;
  readonly pki: Pki;
  readonly world: ProcessWorld;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
}

export interface RestoreCheck extends Compared {
  readonly etcdVersion: string;
  /** From the snapshot file to an etcd that answers. */
  readonly restoreMs: number;
}

/** Reading a large database into memory takes its time. */
const START_TIMEOUT_MS = 300_000;

export async function checkByRestoring(options: RestoreCheckOptions): Promise<RestoreCheck> {
  const { etcd, world, directory, signal } = options;
  if (etcd.etcdutl === undefined)
    throw new Error(
      `etcd ${etcd.version} has no etcdutl, so its snapshots cannot be restored; use 3.5 or later`,
    );
  const began = world.clock.monotonic();
  const [client, peer] = await freePorts();
  const url = `https://127.0.0.1:${client}`;
  const scratch: Scratch = { directory, clientURL: url, peerURL: `http://127.0.0.1:${peer}` };
  await runEtcdutl(
    { binary: etcd.etcdutl, version: etcd.version, env: options.env, signal },
    scratchRestore(scratch, etcd.version),
  );
  const tls = await issueCertificates(scratch, { pki: options.pki, disk: world.disk });
  const process = await EtcdProcess.start(world, {
    binary: etcd.etcd,
    args: scratchEtcd(scratch),
    env: { PATH: options.env["PATH"], HOME: directory },
    cwd: directory,
    log: path.join(directory, "etcd.log"),
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
    const compared = await compareRestored(reader, endpoint, options, signal);
    return { etcdVersion: etcd.version, restoreMs, ...compared };
  } finally {
    await transport.close();
    await process.kill();
  }
}

/** For an etcd on loopback that only we can talk to: a CA of its own, and "root" as its one client (R55). */
export async function certificates({
  pki,
  scratch: directory,
  world: { disk },
}: Pick<RestoreCheckOptions, "pki"> & {
  readonly scratch: string;
  readonly world: Pick<ProcessWorld, "disk">;
}): Promise<{
  tls: TlsCredentials;
  flags: string[];
}> {
  const tls = await issueCertificates({ directory, clientURL: "https://127.0.0.1" }, { pki, disk });
  return { tls, flags: tlsFlags(directory) };
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
