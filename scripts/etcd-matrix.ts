/**
 * `npm run etcd:matrix [-- 3.6 3.5.33 …]`: proves that every pinned etcd (or those named) can be had on
 * this machine and works: installs it, starts one member on loopback, writes, reads, stops, and prints
 * version, source, size and time. What fails does not keep the others from being tried.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { createServer } from "node:net";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { table } from "../src/cli/table.ts";
import { runCommand } from "../src/etcd/install/command.ts";
import { ensureEtcd, type InstalledEtcd } from "../src/etcd/install/ensure.ts";
import { etcdPins } from "../src/etcd/versions.ts";
import { sleep, systemClock } from "../src/seams/clock.ts";

const START_MS = 30_000;
const STOP_MS = 10_000;

interface Row {
  readonly version: string;
  readonly source: string;
  readonly size: string;
  readonly install: string;
  readonly run: string;
  readonly result: string;
}

const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => stop.abort(new Error(`stopped by ${signal}`)));
}

const named = process.argv.slice(2).filter((arg) => arg !== "--");
const versions = named.length > 0 ? named : etcdPins.map((pin) => pin.version);
const rows: Row[] = [];
for (const version of versions) {
  if (!stop.signal.aborted) rows.push(await tryVersion(version));
}
process.stdout.write(
  table([
    ["VERSION", "SOURCE", "SIZE", "INSTALL", "START-WRITE-READ-STOP", "RESULT"],
    ...rows.map((row) => [row.version, row.source, row.size, row.install, row.run, row.result]),
  ]),
);
process.exitCode = rows.length === versions.length && rows.every((row) => row.result === "ok") ? 0 : 1;

async function tryVersion(version: string): Promise<Row> {
  const began = performance.now();
  let found: InstalledEtcd;
  try {
    found = await ensureEtcd(version, {
      env: process.env,
      clock: systemClock,
      signal: stop.signal,
      progress: ({ version: which, text, elapsedMs }) =>
        void process.stderr.write(`etcd ${which}: ${text} (${Math.round(elapsedMs / 1000)} s)\n`),
    });
  } catch (error) {
    const result = (error as Error).message;
    return { version, source: "-", size: "-", install: seconds(began), run: "-", result };
  }
  const install = seconds(began);
  const started = performance.now();
  const result = await writeAndRead(found).then(
    () => "ok",
    (error: Error) => error.message,
  );
  const size = `${((await totalBytes(found)) / 1e6).toFixed(1)} MB`;
  return { version: found.version, source: found.source, size, install, run: seconds(started), result };
}

/** One member's whole life, with a value that must come back. */
async function writeAndRead(found: InstalledEtcd): Promise<void> {
  const dir = await mkdtemp(path.join(os.tmpdir(), "quorate-matrix-"));
  const [clientPort, peerPort] = await freePorts();
  const client = `http://127.0.0.1:${clientPort}`;
  const peer = `http://127.0.0.1:${peerPort}`;
  const flags = {
    name: "one",
    "data-dir": path.join(dir, "data"),
    "listen-client-urls": client,
    "advertise-client-urls": client,
    "listen-peer-urls": peer,
    "initial-advertise-peer-urls": peer,
    "initial-cluster": `one=${peer}`,
  };
  const args = Object.entries(flags).map(([name, value]) => `--${name}=${value}`);
  const child = spawn(found.etcd, args, { stdio: ["ignore", "ignore", "pipe"], env: withoutEtcd() });
  const log: string[] = [];
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    log.push(text);
    if (log.length > 50) log.shift();
  });
  try {
    await untilHealthy(child, client, () => log.join(""));
    const value = `of ${found.version}`;
    await etcdctl(found, client, ["put", "matrix", value]);
    const read = await etcdctl(found, client, ["get", "matrix", "--print-value-only"]);
    if (read.trim() !== value)
      throw new Error(`read ${JSON.stringify(read)} instead of ${JSON.stringify(value)}`);
    await end(child);
  } finally {
    if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
    await rm(dir, { recursive: true, force: true });
  }
}

async function untilHealthy(child: ChildProcess, client: string, log: () => string): Promise<void> {
  const until = performance.now() + START_MS;
  for (;;) {
    if (child.exitCode !== null || child.signalCode !== null)
      throw new Error(`etcd ended at its start:\n${log()}`);
    const answer = await fetch(`${client}/health`).catch(() => undefined);
    const body = (await answer?.text().catch(() => "")) ?? "";
    if (answer?.ok && body.includes('"true"')) return;
    if (performance.now() > until)
      throw new Error(`etcd was not healthy within ${START_MS / 1000} s:\n${log()}`);
    await sleep(systemClock, 50, stop.signal);
  }
}

async function etcdctl(found: InstalledEtcd, client: string, args: readonly string[]): Promise<string> {
  const env = { ...withoutEtcd(), ETCDCTL_API: "3" };
  const answer = await runCommand(found.etcdctl, [`--endpoints=${client}`, ...args], { env });
  if (answer.code !== 0) throw new Error(`etcdctl ${args.join(" ")}: ${answer.stderr}`);
  return answer.stdout;
}

async function end(child: ChildProcess): Promise<void> {
  const closed = once(child, "exit", { signal: AbortSignal.timeout(STOP_MS) });
  child.kill("SIGTERM");
  await closed;
}

/** etcd and etcdctl read ETCD* variables as flags: those of the caller are not meant for us. */
function withoutEtcd(): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("ETCD")));
}

/** Two ports that were free a moment ago, taken at the same time so that they differ. */
async function freePorts(): Promise<[number, number]> {
  const servers = [createServer(), createServer()];
  const ports: number[] = [];
  for (const server of servers) {
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    ports.push((server.address() as { port: number }).port);
  }
  for (const server of servers) {
    server.close();
    await once(server, "close");
  }
  return [ports[0] ?? 0, ports[1] ?? 0];
}

async function totalBytes(found: InstalledEtcd): Promise<number> {
  const files = [found.etcd, found.etcdctl, ...(found.etcdutl ? [found.etcdutl] : [])];
  const sizes = await Promise.all(files.map(async (file) => (await stat(file)).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}

function seconds(since: number): string {
  return `${((performance.now() - since) / 1000).toFixed(1)} s`;
}
