/** Real Helm, as a user runs it: its output, or what it says against the command. */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { ensureUpstream } from "../../testbed/nodes/programs.ts";
import type { Manifest } from "./install.ts";

export const CHART = join(import.meta.dirname, "..", "..", "charts", "quorate");

export class Helm implements Disposable {
  readonly #program: string;
  /** Its own caches and configuration; the user's are not touched. */
  readonly #home: string;
  readonly #kubeconfig: string | undefined;

  private constructor(program: string, kubeconfig: string | undefined) {
    this.#program = program;
    this.#home = mkdtempSync(join(tmpdir(), "quorate-helm-"));
    this.#kubeconfig = kubeconfig;
  }

  static async open(kubeconfig?: string): Promise<Helm> {
    return new Helm(await ensureUpstream("helm"), kubeconfig);
  }

  /** Fails with what Helm wrote. */
  run(...args: string[]): Promise<string> {
    const env = {
      PATH: "",
      HOME: this.#home,
      ...(this.#kubeconfig !== undefined && { KUBECONFIG: this.#kubeconfig }),
    };
    return new Promise((resolve, reject) => {
      execFile(this.#program, args, { env, maxBuffer: 1 << 26 }, (error, stdout, stderr) => {
        if (error) reject(new Error(`helm ${args.join(" ")}: ${stderr || error.message}`));
        else resolve(stdout);
      });
    });
  }

  /** What an installation with these options would apply. */
  async template(...args: string[]): Promise<Manifest[]> {
    const text = await this.run("template", "quorate", CHART, "--namespace", "quorate-system", ...args);
    return parseAllDocuments(text)
      .map((document) => document.toJS() as Manifest | null)
      .filter((object) => object !== null);
  }

  [Symbol.dispose](): void {
    rmSync(this.#home, { recursive: true, force: true });
  }
}

/** What it says against something. */
export async function refusalOf(call: Promise<unknown>): Promise<string> {
  return await call.then(
    () => "",
    (error: unknown) => (error as Error).message,
  );
}
