/**
 * The operator as it is shipped: the program in parts, with the flags and the environment of its image and the rights of its
 * installation, as a process of its own whose memory and processor time the system tells.
 */
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { bundleInParts } from "../../scripts/build/bundle.ts";
import { MEMORY_ENV, OPERATOR_AHEAD, OPERATOR_FLAGS } from "../../scripts/build/runtime.ts";
import { API_VERSION } from "../../src/api/metadata.ts";
import { eventually } from "../../testbed/eventually.ts";
import type { TestTestbed } from "../../testbed/for-tests.ts";
import { kubeconfig as kubeconfigOf } from "../../testbed/kubeconfig.ts";
import { freePorts } from "../support/free-ports.ts";
import { applyAll, manifests, operatorToken, OPERATOR, whenServed } from "../support/install.ts";

const ROOT = join(import.meta.dirname, "..", "..");
export const CLUSTERS = `/apis/${API_VERSION}/namespaces/default/etcdclusters`;

export interface Shipped {
  readonly program: string;
  readonly kubeconfig: string;
  /** As in the image, but for what V8 compiled ahead. */
  readonly plain: NodeJS.ProcessEnv;
  /** With it. */
  readonly cached: NodeJS.ProcessEnv;
}

/** Installs it on the testbed, all but its Deployment, and bundles it into the folder. */
export async function ship(bed: Pick<TestTestbed, "client" | "access">, folder: string): Promise<Shipped> {
  await applyAll(
    bed.client,
    manifests("install.yaml").filter(({ kind }) => kind !== "Deployment"),
  );
  await whenServed(bed.client, CLUSTERS);
  const { cert: _, key: __, ...access } = bed.access;
  const kubeconfig = join(folder, "kubeconfig");
  // In a Pod there is none, and so no parser of YAML in memory: none for JSON either.
  const token = await operatorToken(bed.client);
  writeFileSync(kubeconfig, JSON.stringify(kubeconfigOf("operator", { ...access, token })));
  const parts = await bundleInParts(ROOT, join(folder, "app"));
  const program = join(parts.folder, parts.files[0] ?? "");
  const plain = { ...process.env, ...MEMORY_ENV };
  const cached = { ...plain, NODE_COMPILE_CACHE: join(folder, "cache") };
  execFileSync(process.execPath, [...OPERATOR_FLAGS, program, ...OPERATOR_AHEAD], { env: cached });
  return { program, kubeconfig, plain, cached };
}

/** A process of it that is ready. */
export class ShippedOperator {
  readonly #child: ChildProcess;
  readonly readyMs: number;

  private constructor(child: ChildProcess, readyMs: number) {
    this.#child = child;
    this.readyMs = readyMs;
  }

  static async start(
    { program, kubeconfig }: Pick<Shipped, "program" | "kubeconfig">,
    env: NodeJS.ProcessEnv,
  ): Promise<ShippedOperator> {
    const [health = 0] = await freePorts(1);
    const own = ["operator", "--kubeconfig", kubeconfig, "--lease-namespace", OPERATOR.namespace];
    const served = ["--metrics-address", "off", "--health-address", `127.0.0.1:${health}`];
    const began = performance.now();
    const child = spawn(process.execPath, [...OPERATOR_FLAGS, program, ...own, ...served], {
      env,
      stdio: "ignore",
    });
    await eventually(
      "the operator to be ready",
      async () => (await fetch(`http://127.0.0.1:${health}/readyz`)).status === 200,
      { everyMs: 5 },
    );
    return new ShippedOperator(child, performance.now() - began);
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill("SIGTERM");
    await once(this.#child, "exit");
  }

  /** What it has computed so far: the better figure on a machine with other work. In ticks of 10 ms. */
  get cpuMs(): number {
    const fields = this.#reported("stat").split(") ")[1]?.split(" ") ?? [];
    return (Number(fields[11]) + Number(fields[12])) * 10;
  }

  get residentBytes(): number {
    return this.#memory("VmRSS");
  }

  /** The most that it ever was. */
  get peakBytes(): number {
    return this.#memory("VmHWM");
  }

  #memory(field: string): number {
    const [, kB] = new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(this.#reported("status")) ?? [];
    return Number(kB) * 1024;
  }

  #reported(file: string): string {
    return readFileSync(`/proc/${this.#child.pid}/${file}`, "utf8");
  }
}

export function mb(bytes: number): string {
  return `${(bytes / 1e6).toFixed(0)} MB`;
}
