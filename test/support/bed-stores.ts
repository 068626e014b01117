/**
 * Stores that Pods of the stand-in kubelet write to, each with the Secret that an EtcdSnapshot names for it. They listen on
 * another address of loopback, since 127.0.0.1 of a Pod is its own.
 */
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { EtcdSnapshotSpec } from "../../src/api/etcd-snapshot.ts";
import { ACCOUNT, startAzurite } from "./azurite.ts";
import { startGcs } from "./fake-gcs-server.ts";
import { S3Server } from "./versitygw.ts";

export interface BedStore extends AsyncDisposable {
  /** What its Secret holds. */
  readonly credentials: Readonly<Record<string, string>>;
  readonly destination: (prefix: string, credentialsSecret: string) => EtcdSnapshotSpec["destination"];
}

const HOST = "127.0.0.2";

export const bedStores = { s3: startS3, gcs: startGoogle, azure: startAzure } as const;
export type StoreKind = keyof typeof bedStores;

async function startS3(): Promise<BedStore> {
  const server = await S3Server.start({ buckets: ["backups"], host: HOST });
  const { AWS_ACCESS_KEY_ID = "", AWS_SECRET_ACCESS_KEY = "" } = server.env;
  const { endpoint } = server;
  return {
    credentials: { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY },
    destination: (prefix, credentialsSecret) => ({
      s3: { bucket: "backups", prefix, endpoint, credentialsSecret },
    }),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** Tokens come from a server of the test: whoever signs with the key of the service account gets one. */
async function startGoogle(): Promise<BedStore> {
  const server = await startGcs({ buckets: ["backups"], host: HOST });
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const tokens = createServer((_, answer) => {
    answer.setHeader("content-type", "application/json");
    answer.end(JSON.stringify({ access_token: "of a test", expires_in: 3600 }));
  }).listen(0, HOST);
  await once(tokens, "listening");
  const key = {
    type: "service_account",
    client_email: "backups@example.iam.gserviceaccount.com",
    private_key: privateKey.export({ type: "pkcs8", format: "pem" }),
    token_uri: `http://${HOST}:${(tokens.address() as AddressInfo).port}/token`,
  };
  const { endpoint } = server;
  return {
    credentials: { "credentials.json": JSON.stringify(key) },
    destination: (prefix, credentialsSecret) => ({
      gcs: { bucket: "backups", prefix, endpoint, credentialsSecret },
    }),
    async [Symbol.asyncDispose]() {
      tokens.closeAllConnections();
      tokens.close();
      await server[Symbol.asyncDispose]();
    },
  };
}

async function startAzure(): Promise<BedStore> {
  const server = await startAzurite({ containers: ["backups"], host: HOST });
  const { AZURE_STORAGE_KEY = "" } = server.env;
  const { endpoint } = server;
  return {
    credentials: { AZURE_STORAGE_KEY },
    destination: (prefix, credentialsSecret) => ({
      azure: { account: ACCOUNT, container: "backups", prefix, endpoint, credentialsSecret },
    }),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
