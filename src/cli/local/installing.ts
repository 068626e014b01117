/** Comes by an etcd version before anything is changed, and tells what takes so long. */
import { ensureEtcd, type InstalledEtcd } from "../../etcd/install/ensure.ts";
import type { CliIo } from "../io.ts";

export async function haveEtcd(version: string, io: CliIo): Promise<InstalledEtcd> {
  let reported = false;
  const installed = await ensureEtcd(version, {
    env: io.env,
    clock: io.clock,
    signal: io.signal,
    progress: ({ text, elapsedMs }) => {
      reported = true;
      const line = `etcd ${version}: ${text} (${Math.round(elapsedMs / 1000)} s)`;
      io.stderr.write(io.isTTY ? `\r\x1b[K${line.slice(0, (io.stderr.columns ?? 80) - 1)}` : `${line}\n`);
    },
  });
  if (reported && io.isTTY) io.stderr.write("\r\x1b[K");
  return installed;
}
