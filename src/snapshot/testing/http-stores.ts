/** For tests: the stores behind HTTP, each with a server on loopback that fails on purpose, and how it is reached. */
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import type { RestoreSource } from "../../api/bootstrap.ts";
import { systemClock, type Clock } from "../../seams/clock.ts";
import { systemRandom } from "../../seams/random.ts";
import { openAzureStore } from "../store/azure/azure.ts";
import type { AzureSettings } from "../store/azure/settings.ts";
import { openGcsStore } from "../store/gcs/gcs.ts";
import type { GcsSettings } from "../store/gcs/client.ts";
import type { StoreSurroundings } from "../store/http/client.ts";
import { openS3Store } from "../store/s3/s3.ts";
import type { S3Settings } from "../store/s3/settings.ts";
import type { Store } from "../store/store.ts";
import { ACCOUNT, FakeAzure, KEY } from "./fake-azure.ts";
import { FakeGcs } from "./fake-gcs.ts";
import { FakeS3 } from "./fake-s3.ts";
import type { FakeStore } from "./fake-store.ts";

/** Waits pass at once. */
export const hastyClock: Clock = {
  ...systemClock,
  timer: (ms, fire, options) => systemClock.timer(Math.min(ms, 1), fire, options),
};

interface Settings {
  readonly s3?: S3Settings;
  readonly gcs?: GcsSettings;
  readonly azure?: AzureSettings;
}

interface HttpStore {
  readonly name: string;
  readonly fake: () => FakeStore;
  readonly settings: (endpoint: string) => Settings;
  readonly env: (endpoint: string) => Readonly<Record<string, string>>;
  /** The object of this key in `bucket`, as a restore names it. */
  readonly source: (endpoint: string, key: string) => RestoreSource;
  /** The request that makes a large object appear. */
  readonly finishes: (method: string, url: string, range: string) => boolean;
}

export const HTTP_STORES = {
  s3: {
    name: "S3",
    fake: () => new FakeS3(),
    settings: (endpoint) => ({ s3: { endpoint } }),
    env: () => ({ AWS_ACCESS_KEY_ID: "a", AWS_SECRET_ACCESS_KEY: "b" }),
    source: (endpoint, key) => ({ s3: { bucket: "bucket", endpoint, key } }),
    finishes: (method, url) => method === "POST" && url.includes("uploadId"),
  },
  gcs: {
    name: "Google Cloud Storage",
    fake: () => new FakeGcs(),
    settings: (endpoint) => ({ gcs: { endpoint } }),
    env: (endpoint) => ({
      GOOGLE_APPLICATION_CREDENTIALS: endpoint.endsWith(":9") ? "/dev/null" : accountFile(endpoint),
    }),
    source: (endpoint, key) => ({ gcs: { bucket: "bucket", endpoint, key } }),
    finishes: (method, _url, range) => method === "PUT" && /\/\d+$/.test(range),
  },
  azure: {
    name: "Azure",
    fake: () => new FakeAzure(),
    settings: (endpoint) => ({ azure: { endpoint: `${endpoint}/${ACCOUNT}`, account: ACCOUNT } }),
    env: () => ({ AZURE_STORAGE_KEY: KEY.toString("base64") }),
    source: (endpoint, key) => ({
      azure: { container: "bucket", account: ACCOUNT, endpoint: `${endpoint}/${ACCOUNT}`, key },
    }),
    finishes: (method, url) => method === "PUT" && url.includes("blocklist"),
  },
} as const satisfies Readonly<Record<string, HttpStore>>;

export function openStore(
  { settings, env }: Pick<HttpStore, "settings" | "env">,
  endpoint: string,
  bucket: string,
  more: Partial<StoreSurroundings> = {},
): Store {
  const common = { prefix: "pre/", clock: hastyClock, random: systemRandom, env: env(endpoint), ...more };
  const { s3, gcs, azure } = settings(endpoint);
  if (s3) return openS3Store({ ...common, bucket, s3 });
  if (gcs) return openGcsStore({ ...common, bucket, gcs });
  return openAzureStore({ ...common, container: bucket, azure: azure ?? {} });
}

let dir: string | undefined;
/** Made once: it takes longer than a test. */
let privateKey: KeyObject | undefined;

/** The key of a service account whose tokens the store itself hands out. */
function accountFile(endpoint: string): string {
  if (dir === undefined) {
    const made = mkdtempSync(path.join(os.tmpdir(), "quorate-credentials-"));
    process.once("exit", () => rmSync(made, { recursive: true, force: true }));
    dir = made;
  }
  const file = path.join(dir, `${new URL(endpoint).port}.json`);
  privateKey ??= generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
  const account = {
    type: "service_account",
    client_email: "a@b",
    private_key: privateKey.export({ type: "pkcs8", format: "pem" }),
    token_uri: `${endpoint}/token`,
  };
  writeFileSync(file, JSON.stringify(account));
  return file;
}
