/**
 * One process of node's test runner: started in a process group of its own, so that what its tests leave
 * running is found and ended; stopped when it takes too long; judged by its exit code and its summary.
 */
import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { RecordSplitter, type Counts, type StageRecord } from "./records.ts";

export interface TestProcess {
  readonly root: string;
  readonly files: readonly string[];
  readonly testLimitMs: number;
  readonly processLimitMs: number;
  /** Only tests whose name matches. */
  readonly namePattern?: string;
  readonly signal: AbortSignal;
  readonly onRecord: (record: StageRecord) => void;
}

export interface TestProcessEnd {
  readonly counts: Counts | undefined;
  /** What went wrong besides failed tests, in words. */
  readonly faults: readonly string[];
  /** What the tests printed. */
  readonly output: string;
}

const MOST_OUTPUT = 4 * 1024 * 1024;

export async function runTestProcess(options: TestProcess): Promise<TestProcessEnd> {
  const { root, files, testLimitMs, processLimitMs, namePattern, signal, onRecord } = options;
  signal.throwIfAborted();
  const args = [
    "--test",
    "--test-isolation=none",
    `--test-timeout=${testLimitMs}`,
    `--test-reporter=${join(root, "scripts/stages/reporter.ts")}`,
    ...(namePattern === undefined ? [] : [`--test-name-pattern=${namePattern}`]),
    ...files,
  ];
  // Inside another run of the test runner (our own tests) this variable would change the reporter.
  const env = { ...process.env, NODE_TEST_CONTEXT: undefined };
  const child = spawn(process.execPath, args, {
    cwd: root,
    env,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });

  let output = "";
  const keep = (text: string) => {
    if (output.length < MOST_OUTPUT) output += text;
  };
  let counts: Counts | undefined;
  const faults: string[] = [];
  const splitter = new RecordSplitter((record) => {
    if (record.kind === "summary") counts = record.counts;
    else if (record.kind === "remark") faults.push(record.text);
    onRecord(record);
  }, keep);
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => splitter.write(chunk));
  child.stderr.setEncoding("utf8").on("data", keep);

  const stop = () => endGroup(child.pid, "SIGTERM");
  signal.addEventListener("abort", stop, { once: true });
  let overran = false;
  const limit = setTimeout(() => {
    overran = true;
    stop();
  }, processLimitMs);
  // A process that ignores SIGTERM does not get to ignore the limit.
  const lastWord = setTimeout(() => endGroup(child.pid, "SIGKILL"), processLimitMs + 10_000);
  const how = await new Promise<string | number>((resolve, reject) => {
    child.on("error", reject);
    // "exit", not "close": a server that a test left running keeps the pipes open.
    child.on("exit", (code, killedBy) => resolve(code ?? killedBy ?? 1));
  });
  const leftovers = await endLeftovers(child.pid);
  await pipesClosed(child);
  clearTimeout(limit);
  clearTimeout(lastWord);
  signal.removeEventListener("abort", stop);
  splitter.end();

  if (overran) {
    const seconds = Math.round(processLimitMs / 1000);
    faults.push(
      counts
        ? `the tests ended, but the process was still running after ${seconds} s: something is left open`
        : `still running after ${seconds} s: a test hangs, or something is left open`,
    );
  } else if (signal.aborted) faults.push("interrupted");
  else if (!counts) faults.push(`ended (${how}) before its tests did`);
  else if (how !== 0 && counts.failed + counts.cancelled === 0 && faults.length === 0) {
    faults.push(`all tests passed, but the process ended with ${how}`);
  }
  if (leftovers && !overran && !signal.aborted)
    faults.push("left processes running behind its tests (ended now)");
  return { counts, faults, output };
}

/** Children get a moment to go after their parent; what then remains is ended and reported. */
async function endLeftovers(pid: number | undefined): Promise<boolean> {
  for (let waited = 0; waited < 2000; waited += 50) {
    if (!groupAlive(pid)) return false;
    await sleep(50);
  }
  endGroup(pid, "SIGKILL");
  return true;
}

async function pipesClosed(child: {
  stdout: NodeJS.ReadableStream;
  stderr: NodeJS.ReadableStream;
}): Promise<void> {
  const ended = [child.stdout, child.stderr].map(
    (stream) =>
      new Promise<void>((resolve) =>
        "readableEnded" in stream && stream.readableEnded ? resolve() : stream.once("close", resolve),
      ),
  );
  await Promise.race([Promise.all(ended), sleep(1000, undefined, { ref: false })]);
}

/** A zombie that nobody has reaped yet does not count: where pid 1 is no real init, it stays for ever. */
function groupAlive(group: number | undefined): boolean {
  if (group === undefined) return false;
  try {
    process.kill(-group, 0);
  } catch {
    return false;
  }
  if (process.platform !== "linux") return true;
  return readdirSync("/proc").some((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    // "pid (name) state ppid pgrp …"; the name may hold spaces and parentheses.
    const fields = readStat(pid).split(") ").at(-1)?.split(" ") ?? [];
    return fields[0] !== "Z" && Number(fields[2]) === group;
  });
}

function readStat(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    // Ended between the listing and the look.
    return "";
  }
}

function endGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch (error) {
    // Already gone is what was wanted.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
