/**
 * `kubectl etcd` as a person calls it: real kubectl, which finds the built file as a plugin on its PATH. What succeeded and
 * what failed is kept, so that a test file can show that it called every verb that it has to prove.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { bundle } from "../../scripts/build/bundle.ts";
import { PAIRS } from "../../src/cli/testing/pairs.ts";
import { ensureKubernetes } from "../../testbed/kubernetes-build.ts";
import { Calls } from "./calls.ts";
import { tell } from "./tell.ts";

const ROOT = path.join(import.meta.dirname, "..", "..");

export interface Said {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

interface Call {
  /** Instead of what the testbed wrote. */
  readonly kubeconfig?: string;
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
}

export class KubectlEtcd implements Disposable {
  /** The home and the working directory of the caller. */
  readonly folder = mkdtempSync(path.join(tmpdir(), "quorate-kubectl-"));
  /** The built file. */
  readonly file: string;
  readonly #kubeconfig: string;
  readonly #path: string;
  readonly #calls: Calls;

  private constructor(kubeconfig: string, kubernetes: string, calls: Calls) {
    const bin = path.join(this.folder, "bin");
    mkdirSync(bin);
    this.file = path.join(this.folder, "quorate.mjs");
    symlinkSync(this.file, path.join(bin, "kubectl-etcd"));
    this.#kubeconfig = kubeconfig;
    // The file begins with `env node`.
    this.#path = [bin, kubernetes, path.dirname(process.execPath), "/usr/bin", "/bin"].join(":");
    this.#calls = calls;
  }

  static async install({ kubeconfig }: { readonly kubeconfig: string }): Promise<KubectlEtcd> {
    const { bin } = await ensureKubernetes();
    const installed = new KubectlEtcd(kubeconfig, bin, await Calls.ofEveryVerb());
    await bundle(ROOT, installed.folder);
    return installed;
  }

  async run(
    args: readonly string[],
    { kubeconfig = this.#kubeconfig, input = "", env = {} }: Call = {},
  ): Promise<Said> {
    const child = spawn("kubectl", ["etcd", ...args], {
      cwd: this.folder,
      env: { PATH: this.#path, HOME: this.folder, KUBECONFIG: kubeconfig, ...env },
    });
    let [out, err] = ["", ""];
    child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (err += text));
    child.stdin.on("error", () => undefined).end(input);
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once("error", reject).once("close", resolve);
    });
    this.#calls.record(args, code);
    tell("output of commands", [args.join(" "), out, err].join("\n"));
    return { code, out, err };
  }

  /** `line` with single spaces between its words; it succeeds. */
  async done(line: string, says: RegExp = /./, call: Call = {}): Promise<Said> {
    const said = await this.run(line.split(" "), call);
    assert.equal(said.code, 0, `${line}: ${said.err}`);
    assert.match(said.out, says);
    return said;
  }

  /** It fails with this code, says why and what to do, and prints no result. */
  async refused(line: string, code: number, says: RegExp, call: Call = {}): Promise<void> {
    const said = await this.run(line.split(" "), call);
    assert.match(said.err, says);
    assert.equal(said.code, code, said.err);
    assert.equal(said.out, "");
  }

  /** Every verb that this test file has to prove succeeded in it, and failed once with what to do. */
  async assertProven(file: string): Promise<void> {
    for (const name of this.#calls.assertProven(file)) {
      const { wrong = "", code = -1, says = /^$/ } = PAIRS[name] ?? {};
      // The command in hints is the one that was called.
      const told = new RegExp(says.source.replaceAll("quorate ", "kubectl etcd "));
      await this.refused(`${name} ${wrong}`.trim(), code, told, {
        kubeconfig: path.join(this.folder, "none"),
      });
    }
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
