/** `quorate operator` as a process of its own, as a Pod or a person runs it, with its log read line by line. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { eventually } from "../../testbed/eventually.ts";
import type { TestTestbed } from "../../testbed/for-tests.ts";
import { tell } from "./tell.ts";

const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));

export interface LogLine {
  readonly time: string;
  readonly level: string;
  readonly message: string;
}

export class OperatorProcess {
  readonly lines: LogLine[] = [];
  /** What it wrote that is no line of its log. */
  readonly words: string[] = [];
  readonly startedAt = Date.now();
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown[]>;

  constructor(bed: Pick<TestTestbed, "kubeconfig">, args: readonly string[] = []) {
    const quiet = ["--health-address", "off", "--metrics-address", "off"];
    const all = [MAIN, "operator", "--kubeconfig", bed.kubeconfig, ...quiet, ...args];
    this.#child = spawn(process.execPath, all, { stdio: ["ignore", "ignore", "pipe"] });
    // Not its exit: what it said last may be read only after that.
    this.#ended = once(this.#child, "close");
    if (this.#child.stderr)
      createInterface({ input: this.#child.stderr }).on("line", (line) => {
        tell("log of operators", line);
        if (line.startsWith("{")) this.lines.push(JSON.parse(line) as LogLine);
        else this.words.push(line);
      });
  }

  /** When it wrote that it leads; undefined while it has not. */
  get ledAt(): number | undefined {
    const line = this.lines.find(({ message }) => message.includes("became the leader"));
    return line && Date.parse(line.time);
  }

  async leads(withinMs = 60_000): Promise<number> {
    return await eventually("it leads", () => this.ledAt, { withinMs });
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Its exit code; null when a signal ended it. */
  async ended(): Promise<number | null> {
    const [code] = await this.#ended;
    return code as number | null;
  }

  async end(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.kill("SIGKILL");
    await this.#ended;
  }
}
