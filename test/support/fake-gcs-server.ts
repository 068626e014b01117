/** A server like Google Cloud Storage for tests: fake-gcs-server, over a directory. Its stage has built it before. */
import { mkdirSync, mkdtempSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { ensureUpstream } from "../../testbed/nodes/programs.ts";
import { freePorts } from "./free-ports.ts";
import { StoreServer } from "./store-server.ts";

export interface GcsServer extends AsyncDisposable {
  readonly endpoint: string;
  /** By it Google's tools and ours find it, and ask for no token. */
  readonly env: Readonly<Record<string, string>>;
}

/** `host`: another address of loopback, for Pods of the stand-in kubelet, whose 127.0.0.1 is their own. */
export async function startGcs({
  buckets,
  host = "127.0.0.1",
}: {
  buckets: readonly string[];
  host?: string;
}): Promise<GcsServer> {
  const command = await ensureUpstream("fakegcs");
  const dir = mkdtempSync(path.join(os.tmpdir(), "quorate-gcs-"));
  const data = path.join(dir, "data");
  for (const bucket of buckets) mkdirSync(path.join(data, bucket), { recursive: true });
  const [port = 0] = await freePorts(1);
  const endpoint = `http://${host}:${port}`;
  const server = await StoreServer.start({
    name: "fake-gcs-server",
    command,
    args: [
      "-scheme=http",
      `-host=${host}`,
      `-port=${port}`,
      "-backend=filesystem",
      `-filesystem-root=${data}`,
      `-external-url=${endpoint}`,
      `-public-host=${host}:${port}`,
      "-log-level=warn",
    ],
    dir,
    host,
    port,
  });
  return {
    endpoint,
    env: { STORAGE_EMULATOR_HOST: endpoint },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
