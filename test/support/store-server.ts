/** A server of a store for tests: a process over a directory of its own, awaited until it listens. */
import { rmSync } from "node:fs";
import { connect } from "node:net";
import path from "node:path";
import { systemProcesses, type RunningProcess } from "../../src/seams/processes.ts";
import { eventually } from "../../testbed/eventually.ts";

export interface ServerOptions {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Removed with the server. */
  readonly dir: string;
  readonly host: string;
  readonly port: number;
}

export class StoreServer implements AsyncDisposable {
  readonly dir: string;
  readonly #name: string;
  readonly #process: RunningProcess;

  private constructor({ dir, name }: ServerOptions, running: RunningProcess) {
    this.dir = dir;
    this.#name = name;
    this.#process = running;
  }

  static async start(options: ServerOptions): Promise<StoreServer> {
    const { name, command, args, dir, host, port, env } = options;
    const running = await systemProcesses.spawn({
      command,
      args,
      env: { PATH: process.env["PATH"], ...env },
      cwd: dir,
      log: path.join(dir, "log"),
    });
    const server = new StoreServer(options, running);
    await eventually(`${name} listens`, () => listens(host, port), { withinMs: 60_000 });
    return server;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.signal("SIGKILL");
    // Awaited through a poll: a detached child does not keep this process awake.
    await eventually(`${this.#name} has ended`, async () => !(await systemProcesses.isAlive(this.#process)));
    rmSync(this.dir, { recursive: true, force: true });
  }
}

function listens(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, host, () => resolve(true)).on("error", () => resolve(false));
    socket.on("connect", () => socket.destroy());
  });
}
