/**
 * Probes: one attempt (httpGet, tcpSocket, exec), and the loop with thresholds around it, as a kubelet runs them.
 */
import { spawn } from "node:child_process";
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Container, HTTPGetAction, Probe } from "kubernetes-types/core/v1.d.ts";
import { environmentOf } from "../processes.ts";
import { ownAddress } from "./loopback.ts";
import { enterCommand } from "./sandbox.ts";

export interface Target {
  container: Container;
  podIP: string;
  pid: number;
}

/** Undefined when it succeeded, else why not. */
export async function attempt(
  handler: Probe,
  target: Target,
  timeoutMs: number,
): Promise<string | undefined> {
  if (handler.httpGet) return await httpGet(handler.httpGet, target, timeoutMs);
  if (handler.tcpSocket) {
    const { host = target.podIP, port } = handler.tcpSocket;
    return await tcpConnect(host, portNumber(target.container, port), timeoutMs);
  }
  if (handler.exec) return await execute(handler.exec.command ?? [], target, timeoutMs);
  return "only httpGet, tcpSocket and exec probes are simulated";
}

export interface ProbeLoop {
  probe: Probe;
  target: Target;
  signal: AbortSignal;
  /** Called when the threshold in either direction is reached, and again for each result that confirms it. */
  result: (ok: boolean, message: string) => void;
  failed?: (message: string) => void;
  /** Extra moments (ms after the start) at which a kubelet looks again before the period is over. */
  early?: number[];
}

export async function probeLoop({
  probe,
  target,
  signal,
  result,
  failed,
  early = [],
}: ProbeLoop): Promise<void> {
  const period = (probe.periodSeconds ?? 10) * 1000;
  const started = Date.now();
  let successes = 0;
  let failures = 0;
  let next = started + (probe.initialDelaySeconds ?? 0) * 1000;
  for (;;) {
    await sleep(Math.max(0, next - Date.now()), undefined, { signal }).catch(() => {});
    if (signal.aborted) return;
    const message = await attempt(probe, target, (probe.timeoutSeconds ?? 1) * 1000);
    if (signal.aborted) return;
    if (message === undefined) {
      successes++;
      failures = 0;
      if (successes >= (probe.successThreshold ?? 1)) result(true, "");
    } else {
      failures++;
      successes = 0;
      failed?.(message);
      if (failures >= (probe.failureThreshold ?? 3)) result(false, message);
    }
    const now = Date.now();
    const soon = successes > 0 ? undefined : early.map((ms) => started + ms).find((at) => at > now);
    next = Math.max(now, Math.min(next + period, soon ?? Infinity));
  }
}

export function portNumber(container: Container, port: number | string): number {
  if (typeof port === "number") return port;
  const named = container.ports?.find((p) => p.name === port)?.containerPort;
  return named ?? Number(port);
}

function httpGet(
  action: HTTPGetAction,
  { container, podIP }: Target,
  timeoutMs: number,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    const secure = action.scheme === "HTTPS";
    const headers = Object.fromEntries((action.httpHeaders ?? []).map((h) => [h.name, h.value]));
    const request = (secure ? httpsRequest : httpRequest)({
      host: action.host ?? podIP,
      port: portNumber(container, action.port),
      path: action.path ?? "/",
      headers: { "user-agent": "kube-probe/1.36", accept: "*/*", ...headers },
      agent: false,
      ...(secure && { rejectUnauthorized: false }),
    });
    const timer = setTimeout(() => request.destroy(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
    const done = (message: string | undefined) => {
      clearTimeout(timer);
      resolve(message);
    };
    request.on("error", (error) => done(error.message));
    request.on("response", (response) => {
      const code = response.statusCode ?? 0;
      response.on("error", () => {}).resume();
      done(code >= 200 && code < 400 ? undefined : `HTTP probe failed with statuscode: ${code}`);
      request.destroy();
    });
    request.end();
  });
}

function tcpConnect(host: string, port: number, timeoutMs: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: timeoutMs });
    const done = (message: string | undefined) => {
      socket.destroy();
      resolve(message);
    };
    socket.on("connect", () => done(undefined));
    socket.on("timeout", () => done(`no connection within ${timeoutMs} ms`));
    socket.on("error", (error) => done(error.message));
  });
}

/** Runs a command beside the container's process; used by exec probes, hooks and tests. */
export function execute(
  command: string[],
  { pid, podIP }: Target,
  timeoutMs: number,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    const { file, args } = enterCommand(
      pid,
      command.map((part) => ownAddress(part, podIP)),
    );
    const child = spawn(file, args, {
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
      env: environmentOf(pid),
    });
    let output = "";
    const keep = (chunk: Buffer) => (output = (output + String(chunk)).slice(-1000));
    child.stdout.on("data", keep);
    child.stderr.on("data", keep);
    const timer = setTimeout(() => {
      if (child.pid) process.kill(-child.pid, "SIGKILL");
    }, timeoutMs);
    child.on("error", (error) => (output = error.message));
    child.on("close", (code, signal) => {
      clearTimeout(timer);
      if (code === 0) resolve(undefined);
      else
        resolve(signal ? `command timed out after ${timeoutMs} ms` : `exit code ${code}: ${output.trim()}`);
    });
  });
}
