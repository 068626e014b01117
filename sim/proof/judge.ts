/**
 * A process that judges mutants (mutation-worker.ts), begun anew when it is worn out or does not answer: a mutant may
 * well loop for ever.
 */
import { fork, type ChildProcess } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { systemClock } from "../../src/seams/clock.ts";
import type { Answer, Question } from "./mutation-worker.ts";
import { root } from "./run-tool.ts";

/** Modules of earlier mutants stay in memory: a new process now and then. */
const MUTANTS_PER_PROCESS = 150;
const WORKER = fileURLToPath(new URL("mutation-worker.ts", import.meta.url));

export class Judge {
  #child: ChildProcess | undefined;
  #asked = 0;
  readonly #runs: number;

  /** `runs`: how many examples a property is tried with. */
  constructor(runs: number) {
    this.#runs = runs;
  }

  async ask(question: Question, limitMs: number): Promise<Answer | "no answer"> {
    if (this.#asked++ >= MUTANTS_PER_PROCESS) this.end();
    const child = (this.#child ??= fork(WORKER, {
      cwd: root,
      env: { ...process.env, NODE_NO_WARNINGS: "1", PROPERTY_RUNS: String(this.#runs) },
      stdio: ["ignore", "ignore", "ignore", "ipc"],
    }));
    const answer = await new Promise<Answer | "no answer">((resolve) => {
      const done = (result: Answer | "no answer") => {
        limit.cancel();
        child.off("message", onMessage);
        child.off("exit", onExit);
        resolve(result);
      };
      const limit = systemClock.timer(limitMs, () => done("no answer"));
      const onMessage = (message: unknown) => done(message as Answer);
      const onExit = () => done("no answer");
      child.on("message", onMessage);
      child.on("exit", onExit);
      child.send(question);
    });
    if (answer === "no answer") this.end();
    return answer;
  }

  end(): void {
    this.#child?.kill("SIGKILL");
    this.#child = undefined;
    this.#asked = 0;
  }
}
