/** A real S3 server for tests: versitygw, over a directory, with or without TLS. Its stage has built it before. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import type { KeyPair } from "../../src/seams/pki.ts";
import { systemProcesses, type RunningProcess } from "../../src/seams/processes.ts";
import { eventually } from "../../testbed/eventually.ts";
import { ensureUpstream } from "../../testbed/nodes/programs.ts";
import { freePorts } from "./free-ports.ts";

export class S3Server implements AsyncDisposable {
  readonly dir: string;
  readonly endpoint: string;
  /** What AWS's tools and ours read. */
  readonly env: Readonly<Record<string, string>>;
  readonly #process: RunningProcess;

  private constructor(dir: string, endpoint: string, running: RunningProcess) {
    this.dir = dir;
    this.endpoint = endpoint;
    this.#process = running;
    this.env = {
      AWS_ACCESS_KEY_ID: "tester",
      AWS_SECRET_ACCESS_KEY: "tester-secret",
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
    const [port] = await freePorts(1);
    const files = tls && { cert: path.join(dir, "server.crt"), key: path.join(dir, "server.key") };
    if (tls && files) {
      writeFileSync(files.cert, tls.certificate);
      writeFileSync(files.key, tls.key, { mode: 0o600 });
    }
    const address = `${host}:${port}`;
    const secure = files ? ["--cert", files.cert, "--key", files.key] : [];
    const running = await systemProcesses.spawn({
      command,
      args: ["--port", address, "--quiet", ...secure, "posix", path.join(dir, "data")],
      env: {
        PATH: process.env["PATH"],
        ROOT_ACCESS_KEY_ID: "tester",
        ROOT_SECRET_ACCESS_KEY: "tester-secret",
      },
      cwd: dir,
      log: path.join(dir, "log"),
    });
    const server = new S3Server(dir, `${tls ? "https" : "http"}://${address}`, running);
    const { connect } = await import("node:net");
    await eventually(
      "versitygw listens",
      () =>
        new Promise<boolean>((resolve) => {
          const socket = connect(Number(port), host, () => resolve(true)).on("error", () => resolve(false));
          socket.on("connect", () => socket.destroy());
        }),
    );
    return server;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.signal("SIGKILL");
    // Awaited through a poll: a detached child does not keep this process awake.
    await eventually("versitygw has ended", async () => !(await systemProcesses.isAlive(this.#process)));
    rmSync(this.dir, { recursive: true, force: true });
  }
}
