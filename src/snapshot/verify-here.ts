/**
 * A verification on one machine: the steps that containers of a Pod take on Kubernetes (verification.ts), one after the
 * other in a process, with etcdutl and etcd of the version that wrote the snapshot as its children.
 */
import path from "node:path";
import { EtcdutlError, runEtcdutl } from "../etcd/etcdutl.ts";
import type { InstalledEtcd } from "../etcd/install/ensure.ts";
import { EtcdProcess, type ProcessWorld } from "../etcd/process.ts";
import { freePorts } from "./scratch-process.ts";
import { scratchEtcd, scratchRestore, type Scratch } from "./scratch.ts";
import { VerificationError } from "./verification-error.ts";
import { compareScratch, fetchForVerification, type FetchStep, type Verified } from "./verification.ts";

export interface VerifyHere extends Omit<FetchStep, "scratch" | "disk"> {
  /** Of this verification alone; whatever is in it is removed. */
  readonly directory: string;
  readonly etcd: InstalledEtcd;
  readonly world: ProcessWorld;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export async function verifyHere(options: VerifyHere): Promise<Verified> {
  const { directory, etcd, world, env, clock, signal } = options;
  const { disk } = world;
  if (etcd.etcdutl === undefined)
    throw new VerificationError(
      "RestoreFailed",
      `etcd ${etcd.version} has no etcdutl, so its snapshots cannot be restored; use 3.5 or later`,
    );
  const [client, peer] = await freePorts();
  const scratch: Scratch = {
    directory,
    clientURL: `https://127.0.0.1:${client}`,
    peerURL: `http://127.0.0.1:${peer}`,
  };
  await endFormer(scratchEtcd(scratch), world);
  await disk.makeDirectory(directory);
  try {
    await fetchForVerification({ ...options, scratch, disk });
    await runEtcdutl(
      { binary: etcd.etcdutl, version: etcd.version, env, signal },
      scratchRestore(scratch, etcd.version),
    );
    const server = await EtcdProcess.start(world, {
      binary: etcd.etcd,
      args: scratchEtcd(scratch),
      env: { PATH: env["PATH"], HOME: directory },
      cwd: directory,
      log: path.join(directory, "etcd.log"),
    });
    try {
      return await compareScratch({ scratch, disk, clock, signal });
    } finally {
      await server.kill();
    }
  } catch (error) {
    if (error instanceof EtcdutlError)
      throw new VerificationError("RestoreFailed", error.message, { cause: error });
    throw error;
  } finally {
    await disk.remove(directory);
  }
}

/** A process that was killed leaves its etcd behind, on the files that are about to be removed. */
async function endFormer(args: readonly string[], { processes }: ProcessWorld): Promise<void> {
  const argument = args.find((one) => one.startsWith("--data-dir="));
  for (const identity of argument === undefined ? [] : await processes.find(argument)) {
    const former = await processes.adopt(identity);
    if (former?.signal("SIGKILL")) await former.exit;
  }
}
