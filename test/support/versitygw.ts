/** A real S3 server for tests: versitygw, over a directory, with or without TLS. Its stage has built it before. */
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import type { KeyPair } from "../../src/seams/pki.ts";
import { ensureUpstream } from "../../testbed/nodes/programs.ts";
import { freePorts } from "./free-ports.ts";
import { StoreServer } from "./store-server.ts";
import { passwordOf } from "./passwords.ts";

const SECRET = passwordOf("tester");

export class S3Server implements AsyncDisposable {
  readonly dir: string;
  readonly endpoint: string;
  /** What AWS's tools and ours read. */
  readonly env: Readonly<Record<string, string>>;
  readonly #server: StoreServer;

  private constructor(endpoint: string, server: StoreServer) {
    this.dir = server.dir;
    this.endpoint = endpoint;
    this.#server = server;
    this.env = {
      AWS_ACCESS_KEY_ID: "tester",
      AWS_SECRET_ACCESS_KEY: SECRET,
      AWS_ENDPOINT_URL: endpoint,
      AWS_EC2_METADATA_DISABLED: "true",
    };
  }

  /** `host`: another address of loopback, for Pods of the stand-in kubelet, whose 127.0.0.1 is their own. */
  static async start({
    buckets,
    tls,
    host = "127.0.0.1",
  }: {
    buckets: readonly string[];
    tls?: KeyPair;
    host?: string;
  }): Promise<S3Server> {
    const command = await ensureUpstream("versitygw");
    const dir = mkdtempSync(path.join(os.tmpdir(), "quorate-s3-"));
    for (const bucket of buckets) mkdirSync(path.join(dir, "data", bucket), { recursive: true });
    const [port = 0] = await freePorts(1);
    const files = tls && { cert: path.join(dir, "server.crt"), key: path.join(dir, "server.key") };
    if (tls && files) {
      writeFileSync(files.cert, tls.certificate);
      writeFileSync(files.key, tls.key, { mode: 0o600 });
    }
    const address = `${host}:${port}`;
    const secure = files ? ["--cert", files.cert, "--key", files.key] : [];
    const server = await StoreServer.start({
      name: "versitygw",
      command,
      args: ["--port", address, "--quiet", ...secure, "posix", path.join(dir, "data")],
      env: { ROOT_ACCESS_KEY_ID: "tester", ROOT_SECRET_ACCESS_KEY: SECRET },
      dir,
      host,
      port,
    });
    return new S3Server(`${tls ? "https" : "http"}://${address}`, server);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server[Symbol.asyncDispose]();
  }
}
