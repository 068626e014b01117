/**
 * How soon the operator is ready after its start, and the memory it holds then and with one cluster of three: as a
 * bundle compiled ahead, with the rights and the flags of its image, against a real API server.
 */
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundle } from "../../scripts/build/bundle.ts";
import { MEMORY_ENV, NODE_FLAGS } from "../../scripts/build/image.ts";
import type { EtcdCluster } from "../../src/api/etcd-cluster.ts";
import { API_VERSION } from "../../src/api/metadata.ts";
import { eventually } from "../../testbed/eventually.ts";
import { upForTests } from "../../testbed/for-tests.ts";
import { kubeconfigText } from "../../testbed/kubeconfig.ts";
import { RUNS, tellLoad } from "./measure.ts";
import { freePorts } from "../support/free-ports.ts";
import { applyAll, manifests, operatorToken, OPERATOR, sample, whenServed } from "../support/install.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const CLUSTERS = `/apis/${API_VERSION}/namespaces/default/etcdclusters`;

const folder = mkdtempSync(join(tmpdir(), "quorate-start-"));
tellLoad();
const bed = await upForTests({ kubelet: "process" });
let operator: ChildProcess | undefined;
try {
  await applyAll(
    bed.client,
    manifests("install.yaml").filter(({ kind }) => kind !== "Deployment"),
  );
  await whenServed(bed.client, CLUSTERS);
  const { cert: _, key: __, ...access } = bed.access;
  const kubeconfig = join(folder, "kubeconfig");
  writeFileSync(
    kubeconfig,
    kubeconfigText("operator", { ...access, token: await operatorToken(bed.client) }),
  );
  const [quorate] = await bundle(ROOT, folder);
  const program = quorate?.path ?? "";
  const plain = { ...process.env, ...MEMORY_ENV };
  const cached = { ...plain, NODE_COMPILE_CACHE: join(folder, "cache") };
  execFileSync(process.execPath, [...NODE_FLAGS, program, "--help"], { env: cached });
  for (const [what, env] of [
    ["plain", plain],
    ["compiled ahead", cached],
  ] as const) {
    const times: number[] = [];
    const cpu: number[] = [];
    let memory = 0;
    for (let run = 0; run < RUNS; run++) {
      const started = await start(program, kubeconfig, env);
      operator = started.child;
      times.push(started.readyMs);
      cpu.push(cpuMs(started.child));
      memory = Math.max(memory, residentBytes(started.child));
      await stop(started.child);
    }
    console.log(
      `  ready, ${what}: ${range(times)}, of which computing ${range(cpu)}; ${mb(memory)} (${RUNS} runs)`,
    );
  }
  operator = (await start(program, kubeconfig, cached)).child;
  await bed.client.create(CLUSTERS, sample("three-members"));
  await eventually(
    "the cluster to be healthy",
    async () => (await bed.client.get<EtcdCluster>(`${CLUSTERS}/three`)).status?.readyReplicas === 3,
    { withinMs: 60_000 },
  );
  const busy = residentBytes(operator);
  await new Promise((resolve) => setTimeout(resolve, 30_000));
  console.log(
    `  one cluster of three: ${mb(busy)} when healthy, ${mb(residentBytes(operator))} after 30 s more`,
  );
} finally {
  if (operator?.exitCode === null) await stop(operator);
  await bed.down();
  rmSync(folder, { recursive: true, force: true });
}

async function start(
  program: string,
  kubeconfig: string,
  env: NodeJS.ProcessEnv,
): Promise<{ child: ChildProcess; readyMs: number }> {
  const [health = 0] = await freePorts(1);
  const own = ["operator", "--kubeconfig", kubeconfig, "--lease-namespace", OPERATOR.namespace];
  const served = ["--metrics-address", "off", "--health-address", `127.0.0.1:${health}`];
  const began = performance.now();
  const child = spawn(process.execPath, [...NODE_FLAGS, program, ...own, ...served], {
    env,
    stdio: "ignore",
  });
  await eventually(
    "the operator to be ready",
    async () => (await fetch(`http://127.0.0.1:${health}/readyz`)).status === 200,
    { everyMs: 5 },
  );
  return { child, readyMs: performance.now() - began };
}

async function stop(child: ChildProcess): Promise<void> {
  child.kill("SIGTERM");
  await once(child, "exit");
}

function range(times: readonly number[]): string {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (index: number) => (sorted[index] ?? 0).toFixed(0);
  return `median ${at(RUNS >> 1)} ms, ${at(0)} to ${at(RUNS - 1)} ms`;
}

/** What it has computed so far: the better figure on a machine with other work. In ticks of 10 ms. */
function cpuMs({ pid }: ChildProcess): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

function residentBytes({ pid }: ChildProcess): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
}

function mb(bytes: number): string {
  return `${(bytes / 1e6).toFixed(0)} MB`;
}
