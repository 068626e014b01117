/** The operator on real nodes: the far end of lab-child.ts, which runs where the nodes' host is. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { entering } from "../../../testbed/nodes/verbs.ts";
import type { Call, Methods, Reply } from "./lab-child.ts";

const CHILD = fileURLToPath(new URL("lab-child.ts", import.meta.url));

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

export class Lab {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, Waiting>();
  #last = 0;

  constructor(bed: string) {
    const { file, args, env } = entering(bed, [process.execPath, CHILD, bed]);
    this.#child = spawn(file, args, { env, stdio: ["ignore", "inherit", "inherit", "ipc"] });
    this.#child.on("message", (reply: Reply) => {
      const waiting = this.#waiting.get(reply.id);
      this.#waiting.delete(reply.id);
      if ("error" in reply) waiting?.reject(new Error(reply.error));
      else waiting?.resolve(reply.value);
    });
    this.#child.on("exit", (code, signal) => {
      for (const { reject } of this.#waiting.values())
        reject(new Error(`the process at the nodes' host ended (${code ?? signal})`));
    });
  }

  call<M extends keyof Methods>(
    method: M,
    ...args: Parameters<Methods[M]>
  ): Promise<Awaited<ReturnType<Methods[M]>>> {
    const id = ++this.#last;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve: resolve as (value: unknown) => void, reject });
      this.#child.send({ id, method, args } satisfies Call);
    });
  }

  async end(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exit = once(this.#child, "exit");
    await this.call("end").catch(() => this.#child.kill("SIGKILL"));
    await exit;
  }
}
