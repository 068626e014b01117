/**
 * One process of node's test runner: started in a process group and with a temporary folder of its own, so
 * that what its tests leave behind is found and removed; stopped when it takes too long; judged by its exit code and its summary.
 */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { setTimeout as sleep } from "node:timers/promises";
import { Search } from "../search/process.ts";
import type { Searched } from "../search/folder.ts";
import { clearFolder, endChildren, makeFolder, stopAll } from "./leftovers.ts";
import { RecordSplitter, type Counts, type StageRecord } from "./records.ts";

export interface TestProcess {
  readonly root: string;
  readonly files: readonly string[];
  /** How long one test may take; nothing told for clearly longer means that none runs any more. */
  readonly testLimitMs: number;
  readonly processLimitMs: number;
  /** Only tests whose name matches. */
  readonly namePattern?: string;
  /** No other test process of this run has the same meanwhile: tests choose their ports by it. */
  readonly lane?: number;
  /** Where its temporary folder is made, if not where those of this machine are. */
  readonly temporary?: string;
  readonly signal: AbortSignal;
  readonly onRecord: (record: StageRecord) => void;
}

export interface TestProcessEnd {
  readonly counts: Counts | undefined;
  /** What went wrong besides failed tests, in words. */
  readonly faults: readonly string[];
  /** What the tests printed. */
  readonly output: string;
  /** What was searched for keys and passwords; what was found is among the faults. */
  readonly searched: Searched;
}

const MOST_OUTPUT = 4 * 1024 * 1024;
/** A test that ran out of its time is told by then, and has cleaned up. */
const QUIET_MS = 30_000;

export async function runTestProcess(options: TestProcess): Promise<TestProcessEnd> {
  const { root, testLimitMs, processLimitMs, namePattern, signal, onRecord } = options;
  signal.throwIfAborted();
  const args = [
    "--test",
    "--test-isolation=none",
    `--test-timeout=${testLimitMs}`,
    `--test-reporter=${join(root, "scripts/stages/reporter.ts")}`,
    `--import=${pathToFileURL(join(root, "scripts/search/on-removal.ts")).href}`,
    ...(namePattern === undefined ? [] : [`--test-name-pattern=${namePattern}`]),
    ...options.files,
  ];
  const folder = makeFolder(options.temporary);
  const search = new Search(folder);
  const env = {
    ...process.env,
    ...search.env,
    // Inside another run of the test runner (our own tests) the context would change the reporter.
    NODE_TEST_CONTEXT: undefined,
    TMPDIR: folder,
    QUORATE_LANE: String(options.lane ?? 0),
    // What was compiled once is not compiled again by the next of hundreds of processes.
    NODE_COMPILE_CACHE: join(root, "node_modules/.cache/compiled"),
  };
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
  let heard = performance.now();
  const splitter = new RecordSplitter((record) => {
    heard = performance.now();
    if (record.kind === "summary") counts = record.counts;
    else if (record.kind === "remark") faults.push(record.text);
    else search.hears(record.error ?? "");
    onRecord(record);
  }, keep);
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => splitter.write(chunk));
  child.stderr.setEncoding("utf8").on("data", keep);

  const stop = () => stopAll(child.pid, folder, "SIGTERM");
  signal.addEventListener("abort", stop, { once: true });
  const started = performance.now();
  let overran: number | undefined;
  const limit = setInterval(() => {
    const now = performance.now();
    if (now - started < processLimitMs && now - heard < testLimitMs + QUIET_MS) return;
    // A process that ignores SIGTERM does not get to ignore the limit.
    if (overran === undefined) stop();
    else if (now - started - overran > 10_000) stopAll(child.pid, folder, "SIGKILL");
    overran ??= now - started;
  }, 100);
  const how = await new Promise<string | number>((resolve, reject) => {
    child.on("error", reject);
    // "exit", not "close": a server that a test left running keeps the pipes open.
    child.on("exit", (code, killedBy) => resolve(code ?? killedBy ?? 1));
  });
  const children = await endChildren(child.pid, folder);
  await pipesClosed(child);
  clearInterval(limit);
  signal.removeEventListener("abort", stop);
  splitter.end();
  for (const text of [output, ...faults]) search.hears(text);
  const searched = search.end();
  const files = clearFolder(folder);

  if (overran !== undefined) {
    const seconds = Math.round(overran / 1000);
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
  // A process that was stopped had no chance to clean up.
  if (overran === undefined && !signal.aborted && counts) {
    for (const command of children) faults.push(`left a process running (ended now): ${command}`);
    if (files.length > 0)
      faults.push(`left files in its temporary folder (removed now): ${files.join(", ")}`);
  }
  for (const found of searched.found) faults.push(`wrote a key or a password: ${found}`);
  return { counts, faults, output, searched };
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
