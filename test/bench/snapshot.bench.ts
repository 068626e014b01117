/**
 * `quorate snapshot save` of 400 MB into a directory, beside `etcdctl snapshot save`: time, processor time and resident
 * memory of the process, as the system counts them.
 */
import { spawn } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { ops } from "../../src/etcd/kv.ts";
import { systemRandom } from "../../src/seams/random.ts";
import { bundle } from "../../scripts/build/bundle.ts";
import { etcdOf, TestCluster, type TestMember } from "../support/etcd-cluster.ts";
import { newestVersions } from "../support/etcd-versions.ts";
import { median, RUNS, show, tellLoad } from "./measure.ts";

const MEGABYTES = 400;
const VALUE = 2_000;
const PER_TXN = 100;
const GOALS = { speed: 0.9, cpu: 1, residentMb: 160 };
const TICKS_PER_SECOND = 100;

interface Cost {
  readonly ms: number;
  readonly cpuMs: number;
  readonly residentMb: number;
}

/** Looks at /proc every few milliseconds; both figures only grow, so the last look is nearly the end. */
async function costOf(command: string, args: readonly string[]): Promise<Cost> {
  const began = performance.now();
  const child = spawn(command, args, { stdio: "ignore" });
  let [cpuMs, residentMb] = [0, 0];
  const look = () => {
    try {
      const stat = readFileSync(`/proc/${child.pid}/stat`, "utf8");
      const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      cpuMs = ((Number(fields[11]) + Number(fields[12])) * 1000) / TICKS_PER_SECOND;
      const status = readFileSync(`/proc/${child.pid}/status`, "utf8");
      residentMb = Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1] ?? residentMb * 1024) / 1024;
    } catch {
      // It has ended.
    }
  };
  const timer = setInterval(look, 10);
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  clearInterval(timer);
  if (code !== 0) throw new Error(`${command} ended with ${code}`);
  return { ms: performance.now() - began, cpuMs, residentMb };
}

const version = newestVersions[1] ?? "3.6";
await using cluster = await TestCluster.start({
  version,
  members: 1,
  args: ["--quota-backend-bytes=2147483648", "--unsafe-no-fsync"],
});
const member = cluster.members[0] as TestMember;
const client = cluster.client(undefined, 60_000);
for (let i = 0; i < (MEGABYTES * 1e6) / (VALUE * PER_TXN); i++)
  await client.kv.txn({
    success: Array.from({ length: PER_TXN }, (_, j) =>
      ops.put(`/registry/pods/default/${i}-${j}`, systemRandom.bytes(VALUE)),
    ),
  });
const root = fileURLToPath(new URL("../../", import.meta.url));
const [program] = await bundle(root, path.join(cluster.dir, "dist"));
const { etcdctl } = await etcdOf(version);

tellLoad();
const [ours, theirs]: [Cost[], Cost[]] = [[], []];
for (let i = 0; i < RUNS; i++) {
  const target = path.join(cluster.dir, "out.db");
  const clean = () => {
    rmSync(target, { force: true });
    rmSync(`${target}.manifest.json`, { force: true });
  };
  const save = ["snapshot", "save", "--endpoints", member.clientUrl, target];
  ours.push(await costOf(process.execPath, [program?.path ?? "", ...save]));
  clean();
  theirs.push(await costOf(etcdctl, [`--endpoints=${member.clientUrl}`, "snapshot", "save", target]));
  clean();
}
const of = (costs: readonly Cost[], what: keyof Cost) => costs.map((cost) => cost[what]);
const speed = median(of(theirs, "ms")) / median(of(ours, "ms"));
const cpu = median(of(ours, "cpuMs")) / median(of(theirs, "cpuMs"));
const resident = median(of(ours, "residentMb"));
const verdict = (holds: boolean) => (holds ? "within" : "OVER");
console.log(
  `  quorate snapshot save: ${show(of(ours, "ms"), "ms")}; etcdctl: ${show(of(theirs, "ms"), "ms")}`,
);
console.log(
  `    ${speed.toFixed(2)} times its speed; ${verdict(speed >= GOALS.speed)} the goal of ${GOALS.speed}`,
);
console.log(
  `    processor ${show(of(ours, "cpuMs"), "ms")}, ${cpu.toFixed(2)} times etcdctl's; ${verdict(cpu <= GOALS.cpu)} the goal of ${GOALS.cpu}`,
);
console.log(
  `    ${resident.toFixed(0)} MB resident, etcdctl ${median(of(theirs, "residentMb")).toFixed(0)}; ${verdict(resident <= GOALS.residentMb)} the goal of ${GOALS.residentMb} MB`,
);
