/**
 * `quorate snapshot save` of 1 GB beside etcd's own tool: into a directory beside `etcdctl snapshot save`, and into a
 * real S3 server beside the same followed by an upload with curl. Time, processor time and resident memory of the
 * processes, as the system counts them.
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
import { S3Server } from "../support/versitygw.ts";
import { median, show, tellLoad } from "./measure.ts";

const MEGABYTES = 1_000;
const VALUE = 2_000;
const PER_TXN = 100;
const RUNS = 3;
const RESIDENT_GOAL_MB = 160;
const TICKS_PER_SECOND = 100;
const BUCKET = "bench";

interface Cost {
  readonly ms: number;
  readonly cpuMs: number;
  readonly residentMb: number;
}

/** Looks at /proc every few milliseconds; both figures only grow, so the last look is nearly the end. */
async function costOf(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Cost> {
  const began = performance.now();
  const child = spawn(command, args, {
    stdio: ["ignore", "ignore", "inherit"],
    env: { ...process.env, ...env },
  });
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
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  clearInterval(timer);
  if (code !== 0) throw new Error(`${command} ended with ${code}`);
  return { ms: performance.now() - began, cpuMs, residentMb };
}

/** Of two commands that a person runs one after the other. */
function both(a: Cost, b: Cost): Cost {
  return {
    ms: a.ms + b.ms,
    cpuMs: a.cpuMs + b.cpuMs,
    residentMb: Math.max(a.residentMb, b.residentMb),
  };
}

const version = newestVersions[1] ?? "3.6";
await using cluster = await TestCluster.start({
  version,
  members: 1,
  args: ["--quota-backend-bytes=4294967296", "--unsafe-no-fsync"],
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
await using s3 = await S3Server.start({ buckets: [BUCKET] });
const file = path.join(cluster.dir, "out.db");

function clean(): void {
  for (const one of [file, `${file}.manifest.json`]) rmSync(one, { force: true });
  for (const one of ["out.db", "out.db.manifest.json"])
    rmSync(path.join(s3.dir, "data", BUCKET, one), { force: true });
}

const save = async (target: string) =>
  await costOf(
    process.execPath,
    [program?.path ?? "", "snapshot", "save", "--endpoints", member.clientUrl, target],
    s3.env,
  );
const saveByEtcdctl = async () =>
  await costOf(etcdctl, [`--endpoints=${member.clientUrl}`, "snapshot", "save", file]);
const upload = async () => {
  const { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret } = s3.env;
  const signed = ["--aws-sigv4", "aws:amz:us-east-1:s3", "--user", `${id}:${secret}`];
  const unhashed = ["--header", "x-amz-content-sha256: UNSIGNED-PAYLOAD"];
  return await costOf("curl", [
    "-sS",
    "--fail",
    ...signed,
    ...unhashed,
    "-T",
    file,
    `${s3.endpoint}/${BUCKET}/out.db`,
  ]);
};

await compare("into a directory", "etcdctl", 0.9, async () => await save(file), saveByEtcdctl);
await compare(
  "into S3",
  "etcdctl and curl",
  1,
  async () => await save(`s3://${BUCKET}/out.db`),
  async () => both(await saveByEtcdctl(), await upload()),
);

async function compare(
  where: string,
  reference: string,
  speedGoal: number,
  run: () => Promise<Cost>,
  other: () => Promise<Cost>,
): Promise<void> {
  tellLoad(RUNS);
  const [ours, theirs]: [Cost[], Cost[]] = [[], []];
  for (let i = 0; i < RUNS; i++) {
    ours.push(await run());
    clean();
    theirs.push(await other());
    clean();
  }
  const of = (costs: readonly Cost[], what: keyof Cost) => costs.map((cost) => cost[what]);
  const speed = median(of(theirs, "ms")) / median(of(ours, "ms"));
  const cpu = median(of(ours, "cpuMs")) / median(of(theirs, "cpuMs"));
  const resident = median(of(ours, "residentMb"));
  const verdict = (holds: boolean) => {
    if (!holds) process.exitCode = 1;
    return holds ? "met" : "NOT met";
  };
  console.log(
    `  ${MEGABYTES} MB ${where}: quorate ${show(of(ours, "ms"), "ms")}; ${reference} ${show(of(theirs, "ms"), "ms")}`,
  );
  console.log(
    `    ${speed.toFixed(2)} times the speed of ${reference}: ${verdict(speed >= speedGoal)} (at least ${speedGoal})`,
  );
  console.log(
    `    processor ${show(of(ours, "cpuMs"), "ms")}, ${cpu.toFixed(2)} times ${reference}: ${verdict(cpu <= 1)} (at most 1)`,
  );
  console.log(
    `    ${resident.toFixed(0)} MB resident, ${reference} ${median(of(theirs, "residentMb")).toFixed(0)}: ${verdict(resident <= RESIDENT_GOAL_MB)} (at most ${RESIDENT_GOAL_MB} MB)`,
  );
}
