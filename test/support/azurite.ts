/** Azure Blob Storage for tests: Azurite's blob service, over a directory. Its stage has installed it before. */
import { mkdtempSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { sharedKey } from "../../src/snapshot/store/azure/sign.ts";
import { ensureAzurite } from "../../testbed/nodes/azurite.ts";
import { freePorts } from "./free-ports.ts";
import { StoreServer } from "./store-server.ts";
import { passwordOf } from "./passwords.ts";

export const ACCOUNT = "tester";

export interface AzureServer extends AsyncDisposable {
  /** Of the account's blob service. */
  readonly endpoint: string;
  /** What Azure's tools and ours read. */
  readonly env: Readonly<Record<string, string>>;
}

/** `host`: another address of loopback, for Pods of the stand-in kubelet, whose 127.0.0.1 is their own. */
export async function startAzurite({
  containers,
  host = "127.0.0.1",
}: {
  containers: readonly string[];
  host?: string;
}): Promise<AzureServer> {
  const script = await ensureAzurite();
  const dir = mkdtempSync(path.join(os.tmpdir(), "quorate-azure-"));
  const [port = 0] = await freePorts(1);
  const key = Buffer.from(passwordOf("azure-store")).toString("base64");
  const server = await StoreServer.start({
    name: "Azurite",
    command: process.execPath,
    args: [
      script,
      "--blobHost",
      host,
      "--blobPort",
      String(port),
      "--location",
      path.join(dir, "data"),
      "--silent",
      "--disableTelemetry",
      "--skipApiVersionCheck",
    ],
    env: { AZURITE_ACCOUNTS: `${ACCOUNT}:${key}` },
    dir,
    host,
    port,
  });
  const endpoint = `http://${host}:${port}/${ACCOUNT}`;
  for (const container of containers) await createContainer(endpoint, container, key);
  return {
    endpoint,
    env: {
      AZURE_STORAGE_ACCOUNT: ACCOUNT,
      AZURE_STORAGE_KEY: key,
      AZURE_STORAGE_BLOB_ENDPOINT: endpoint,
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

async function createContainer(endpoint: string, container: string, key: string): Promise<void> {
  const url = new URL(`${endpoint}/${container}?restype=container`);
  const headers = { "x-ms-date": new Date().toUTCString(), "x-ms-version": "2021-12-02" };
  const signed = { method: "PUT", path: url.pathname, query: { restype: "container" }, headers, length: 0 };
  const authorization = sharedKey(signed, ACCOUNT, Buffer.from(key, "base64"));
  const answer = await fetch(url, { method: "PUT", headers: { ...headers, authorization } });
  if (!answer.ok) throw new Error(`Azurite made no container (${answer.status}): ${await answer.text()}`);
}
