/**
 * `quorate snapshot save` of 1 GB, as it runs in Jobs, beside etcd's own tool: into a directory beside `etcdctl snapshot
 * save`, and into a real S3 server over TLS beside the same followed by `aws s3 cp`, or by curl in a single request.
 * Time, processor time and resident memory of the processes, as the system counts them.
 */
import { execFileSync, spawn } from "node:child_process";
import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { ops } from "../../src/etcd/kv.ts";
import { createPki } from "../../src/pki/issue.ts";
import { systemClock } from "../../src/seams/clock.ts";
import { systemRandom } from "../../src/seams/random.ts";
import { bundle } from "../../scripts/build/bundle.ts";
import { MEMORY_ENV, NODE_FLAGS } from "../../scripts/build/runtime.ts";
import { etcdOf, TestCluster, type TestMember } from "../support/etcd-cluster.ts";
import { newestVersions } from "../support/etcd-versions.ts";
import { S3Server } from "../support/versitygw.ts";
import { ensureAwsCli } from "./awscli.ts";
import { median, show, tellLoad } from "./measure.ts";

const SNAPSHOT_BYTES = 1e9;
const VALUE = 2_000;
const PER_TXN = 100;
const RUNS = 3;
const RESIDENT_GOAL_MB = 160;
const TICKS_PER_SECOND = 100;
const BUCKET = "bench";
const HOUR = 3_600_000;

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
const endpoint = client.endpoints[0] as (typeof client.endpoints)[number];
for (let i = 0; ; i++) {
  await client.kv.txn({
    success: Array.from({ length: PER_TXN }, (_, j) =>
      ops.put(`/registry/pods/default/${i}-${j}`, systemRandom.bytes(VALUE)),
    ),
  });
  // A page of the database takes one of these values and part of another.
  if (i % 100 === 0 && (await client.maintenance.status(endpoint)).dbSize >= SNAPSHOT_BYTES) break;
}
const root = fileURLToPath(new URL("../../", import.meta.url));
const [quorate] = await bundle(root, path.join(cluster.dir, "dist"));
const program = quorate?.path ?? "";
const { etcdctl } = await etcdOf(version);
const [aws, ...awsArgs] = await ensureAwsCli();
const pki = createPki(systemClock, systemRandom);
const ca = await pki.issueCa({ commonName: "S3", lifeMs: 24 * HOUR });
const sans = { dns: [], ips: ["127.0.0.1"] };
const tls = await pki.issueLeaf({
  ca,
  leaf: { commonName: "s3", sans, usages: ["serverAuth"], lifeMs: 24 * HOUR },
});
await using s3 = await S3Server.start({ buckets: [BUCKET], tls });
const caFile = path.join(cluster.dir, "s3-ca.crt");
writeFileSync(caFile, ca.certificate);
const s3Env = { ...s3.env, AWS_CA_BUNDLE: caFile, AWS_CONFIG_FILE: "/dev/null", AWS_REGION: "us-east-1" };
const file = path.join(cluster.dir, "out.db");
const own = { ...MEMORY_ENV, NODE_COMPILE_CACHE: path.join(cluster.dir, "cache") };
execFileSync(process.execPath, [...NODE_FLAGS, program, "--help"], { env: { ...process.env, ...own } });

const empty = () => {
  for (const one of ["out.db", "out.db.manifest.json"])
    rmSync(path.join(s3.dir, "data", BUCKET, one), { force: true });
};
const clean = () => {
  for (const one of [file, `${file}.manifest.json`]) rmSync(one, { force: true });
  empty();
};
const save = async (target: string) =>
  await costOf(
    process.execPath,
    [...NODE_FLAGS, program, "snapshot", "save", "--endpoints", member.clientUrl, target],
    { ...own, ...s3Env },
  );
const saveByEtcdctl = async () =>
  await costOf(etcdctl, [`--endpoints=${member.clientUrl}`, "snapshot", "save", file]);
const uploadByAws = async () =>
  await costOf(aws, [...awsArgs, "s3", "cp", "--only-show-errors", file, `s3://${BUCKET}/out.db`], s3Env);
const uploadByCurl = async () => {
  const { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret } = s3.env;
  const signed = ["--aws-sigv4", "aws:amz:us-east-1:s3", "--user", `${id}:${secret}`];
  const unhashed = ["--header", "x-amz-content-sha256: UNSIGNED-PAYLOAD"];
  const url = `${s3.endpoint}/${BUCKET}/out.db`;
  return await costOf("curl", ["-sS", "--fail", "--cacert", caFile, ...signed, ...unhashed, "-T", file, url]);
};

await intoDirectory();
await intoS3();

async function intoDirectory(): Promise<void> {
  tellLoad(RUNS);
  const [ours, theirs]: [Cost[], Cost[]] = [[], []];
  let bytes = 0;
  for (let i = 0; i < RUNS; i++) {
    ours.push(await save(file));
    clean();
    theirs.push(await saveByEtcdctl());
    bytes = statSync(file).size;
    clean();
  }
  console.log(`  ${(bytes / 1e9).toFixed(2)} GB into a directory: ${told(ours)}`);
  compare(ours, "etcdctl snapshot save", theirs, 0.9);
  judgeMemory(ours);
}

async function intoS3(): Promise<void> {
  tellLoad(RUNS);
  const [ours, byAws, byCurl]: [Cost[], Cost[], Cost[]] = [[], [], []];
  let bytes = 0;
  for (let i = 0; i < RUNS; i++) {
    ours.push(await save(`s3://${BUCKET}/out.db`));
    clean();
    const saved = await saveByEtcdctl();
    bytes = statSync(file).size;
    byAws.push(both(saved, await uploadByAws()));
    empty();
    byCurl.push(both(saved, await uploadByCurl()));
    clean();
  }
  console.log(`  ${(bytes / 1e9).toFixed(2)} GB into S3: ${told(ours)}`);
  compare(ours, "etcdctl snapshot save and aws s3 cp", byAws, 1);
  compare(ours, "etcdctl snapshot save and curl in one request", byCurl);
  judgeMemory(ours);
}

function of(costs: readonly Cost[], what: keyof Cost): number[] {
  return costs.map((cost) => cost[what]);
}

function told(costs: readonly Cost[]): string {
  return `${show(of(costs, "ms"), "ms")}, processor ${show(of(costs, "cpuMs"), "ms")}, ${median(of(costs, "residentMb")).toFixed(0)} MB resident`;
}

function verdict(holds: boolean): string {
  if (!holds) process.exitCode = 1;
  return holds ? "met" : "NOT met";
}

/** Without a goal for the speed, nothing is judged. */
function compare(
  ours: readonly Cost[],
  reference: string,
  theirs: readonly Cost[],
  speedGoal?: number,
): void {
  const speed = median(of(theirs, "ms")) / median(of(ours, "ms"));
  const cpu = median(of(ours, "cpuMs")) / median(of(theirs, "cpuMs"));
  const goal = (holds: boolean, text: string) =>
    speedGoal === undefined ? "" : `: ${verdict(holds)} (${text})`;
  console.log(`    ${reference}: ${told(theirs)}`);
  console.log(
    `      ${speed.toFixed(2)} times its speed${goal(speed >= (speedGoal ?? 0), `at least ${speedGoal}`)}`,
  );
  console.log(`      ${cpu.toFixed(2)} times its processor time${goal(cpu <= 1, "at most 1")}`);
}

function judgeMemory(ours: readonly Cost[]): void {
  const resident = median(of(ours, "residentMb"));
  console.log(
    `    ${resident.toFixed(0)} MB resident: ${verdict(resident <= RESIDENT_GOAL_MB)} (at most ${RESIDENT_GOAL_MB} MB)`,
  );
}
