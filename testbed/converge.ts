/**
 * Makes the given components run and waits until each says it is ready. One that runs with other settings is
 * ended first; one that exits is reported with the end of its log.
 */
import type { ChildProcess } from "node:child_process";
import { openSync, closeSync, fstatSync, readSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Component } from "./components.ts";
import type { Progress } from "./kubernetes-build.ts";
import type { BedPaths } from "./paths.ts";
import { shortHash } from "./paths.ts";
import { endOwned, ownedProcesses, startOwned } from "./processes.ts";

/** A quiet machine needs seconds; one with twenty times as much to do is slow, and nothing is wrong with it. */
const READY_MS = 180_000;
/** Each look is a TLS handshake, while the server has enough to do with its start. */
const LOOK_MS = 100;

export interface World {
  paths: BedPaths;
  ca: string;
  progress: Progress;
}

export function logFile(paths: BedPaths, role: string): string {
  return join(paths.logs, `${role}.log`);
}

export async function converge(world: World, wanted: Component[]): Promise<void> {
  await Promise.all(wanted.map((component) => ensureRunning(world, component)));
}

async function ensureRunning({ paths, ca, progress }: World, component: Component): Promise<void> {
  const { role, file, args } = component;
  const spec = shortHash(file, ...args);
  const same = ownedProcesses(paths.dir).filter((p) => p.role === role);
  const keep = same.length === 1 && same[0]?.spec === spec ? same[0] : undefined;
  let child: ChildProcess | undefined;
  const started = Date.now();
  if (!keep) {
    await endOwned(paths.dir, (p) => p.role === role);
    const env = component.env ?? {};
    child = startOwned({ dir: paths.dir, role, spec, file, args, env, log: logFile(paths, role) });
    child.on("error", () => {});
  }
  while (!(await answers(component.ready, ca))) {
    const alive = child ? child.exitCode === null && child.signalCode === null && child.pid : true;
    if (!alive || Date.now() - started > READY_MS) {
      const what = alive ? `is not ready after ${READY_MS / 1000} s` : "exited";
      throw new Error(
        `${role} ${what}; the end of ${logFile(paths, role)}:\n${tail(logFile(paths, role), 2000)}`,
      );
    }
    await sleep(LOOK_MS);
  }
  if (child) progress(`${role} is ready (${((Date.now() - started) / 1000).toFixed(1)} s)`);
}

function answers(url: string, ca: string): Promise<boolean> {
  if (url.startsWith("tcp:")) return accepts(new URL(url));
  return new Promise((resolve) => {
    // The scheduler and the controller-manager make certificates of their own: for a question about health on
    // loopback that is good enough.
    const secure = url.startsWith("https:");
    const send = secure ? httpsRequest : httpRequest;
    const request = send(url, {
      agent: false,
      timeout: 2000,
      ...(secure && { ca, rejectUnauthorized: false }),
    });
    request.on("response", (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    request.on("timeout", () => request.destroy(new Error("time-out")));
    request.on("error", () => resolve(false));
    request.end();
  });
}

function accepts({ hostname, port }: URL): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname);
    const done = (accepted: boolean) => {
      socket.destroy();
      resolve(accepted);
    };
    socket.once("connect", () => done(true)).once("error", () => done(false));
  });
}

/** The last `bytes` of a file, or a word about why there are none. */
export function tail(path: string, bytes: number): string {
  try {
    const file = openSync(path, "r");
    try {
      const size = fstatSync(file).size;
      const buffer = Buffer.alloc(Math.min(size, bytes));
      readSync(file, buffer, 0, buffer.length, size - buffer.length);
      return buffer.toString("utf8");
    } finally {
      closeSync(file);
    }
  } catch (error) {
    return `(${(error as Error).message})`;
  }
}
