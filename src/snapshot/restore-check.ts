/**
 * Proves a snapshot by using it: restores it with the etcdutl of its own minor version, without raising the revision,
 * starts an etcd on loopback from it, and compares revision, keys and hash with what was recorded. In a Pod the same is
 * done by containers (verification.ts).
 */
import type { ProcessWorld } from "../etcd/process.ts";
import type { TlsCredentials } from "../etcd/types.ts";
import { compareRestored, type Compared, type Recorded } from "./compare.ts";
import { withScratchEtcd, type ScratchOptions } from "./scratch-process.ts";
import { issueCertificates, tlsFlags } from "./scratch.ts";

/** A directory for this check alone, with the plain snapshot (`SNAPSHOT_NAME`), checked already; the caller removes it. */
export interface RestoreCheckOptions extends Recorded, ScratchOptions {}

export interface RestoreCheck extends Compared {
  readonly etcdVersion: string;
  /** From the snapshot file to an etcd that answers. */
  readonly restoreMs: number;
}

export async function checkByRestoring(options: RestoreCheckOptions): Promise<RestoreCheck> {
  const { etcd, world, signal } = options;
  const began = world.clock.monotonic();
  return await withScratchEtcd(options, async (reader, endpoint) => {
    const restoreMs = world.clock.monotonic() - began;
    const compared = await compareRestored(reader, endpoint, options, signal);
    return { etcdVersion: etcd.version, restoreMs, ...compared };
  });
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
