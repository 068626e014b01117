/**
 * Operators that live for a number of effects: processes of test/operator/crash-child.ts, each with a lease of
 * its own, so that none waits for the dead.
 */
import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { tell } from "./tell.ts";

/** A line of a child's output begins so where it is no effect. */
export const LOGGED = "log: ";
export const CHILD = fileURLToPath(new URL("../operator/crash-child.ts", import.meta.url));

export interface Life {
  /** What it did, in order. */
  readonly effects: string[];
  /** True when its hour had come; false when it was stopped. */
  readonly ended: Promise<boolean>;
  stop(): Promise<void>;
}

export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
}

const STATUS = /\/status$/;

/** What a shell says of a process that was killed. */
const KILLED = 128 + 9;

export class OperatorLives {
  readonly #kubeconfig: string;
  readonly #child: string;
  readonly #place: (command: string[]) => Command;
  readonly #children = new Set<ChildProcess>();
  #count = 0;
  /** Statuses that it died of writing, since it last did anything else. */
  readonly #told = new Set<string>();
  /** Of all of them. */
  readonly log: string[] = [];
  readonly effects: string[] = [];

  /** `place`: how a command is run where the operator has to be; `child`: another file of the same program. */
  constructor(
    kubeconfig: string,
    place: (command: string[]) => Command = ([file = "", ...args]) => ({ file, args }),
    child = CHILD,
  ) {
    this.#kubeconfig = kubeconfig;
    this.#child = child;
    this.#place = place;
  }

  /**
   * A life that ends after so many effects; 0: one that goes on until it is stopped. It lives through a status that its
   * predecessors died of: one that says until when something lasts that begins again with each operator, and each of them
   * would die of saying so.
   */
  live(effects: number): Life {
    const life = [this.#child, this.#kubeconfig, `life-${++this.#count}`, String(effects), ...this.#told];
    const { file, args, env } = this.#place([process.execPath, ...life]);
    const child = spawn(file, [...args], { ...(env && { env }), stdio: ["pipe", "pipe", "inherit"] });
    this.#children.add(child);
    const done: string[] = [];
    createInterface({ input: child.stdout }).on("line", (line) => {
      tell("log of operators", line);
      if (line.startsWith(LOGGED)) this.log.push(line.slice(LOGGED.length));
      else {
        done.push(line);
        this.effects.push(line);
      }
    });
    // Not its exit: what it said last may be read only after that.
    const ended = once(child, "close").then(([code, signal]) => {
      this.#children.delete(child);
      const last = done.at(-1) ?? "";
      if (!STATUS.test(last)) this.#told.clear();
      else this.#told.add(last);
      const killed = signal === "SIGKILL" || code === KILLED;
      assert.ok(code === 0 || killed, `the child ended with ${code ?? signal}`);
      return killed;
    });
    return {
      effects: done,
      ended,
      async stop() {
        child.stdin.end();
        await ended;
      },
    };
  }

  /** Whoever is left. */
  end(): void {
    for (const child of this.#children) child.kill("SIGKILL");
  }
}
