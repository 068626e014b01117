/**
 * One container's life: start, probes, exit, back-off, start again. It owns the process and tells the Pod about
 * every change of its state; it knows nothing of the API server.
 */
import type { ChildProcess } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { constants } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import type { Container, ContainerState, ContainerStatus, Probe } from "kubernetes-types/core/v1.d.ts";
import { signal as sendSignal } from "../processes.ts";
import { Backoff } from "./backoff.ts";
import { attempt, probeLoop } from "./probes.ts";

/** A container that was started: its process, and where it leaves its last words. */
export interface Started {
  child: ChildProcess;
  pid: number;
  imageID: string;
  log: string;
  terminationMessage: string;
}

/** Could not be started; `reason` is what a kubelet writes into the waiting state. */
export class StartFailure extends Error {
  readonly reason: "ErrImagePull" | "CreateContainerConfigError" | "RunContainerError";
  constructor(reason: StartFailure["reason"], message: string) {
    super(message);
    this.reason = reason;
  }
}

export interface ContainerHost {
  spec(): Container;
  podIP(): string;
  graceSeconds(): number;
  backoff: { first: number; max: number };
  start(container: Container, attempt: number): Promise<Started>;
  changed(): void;
  event(type: "Normal" | "Warning", reason: string, message: string): void;
}

export type RestartPolicy = "Always" | "OnFailure" | "Never";

export class ContainerLife {
  state: ContainerState = { waiting: { reason: "PodInitializing" } };
  lastState: ContainerState = {};
  restartCount = 0;
  ready = false;
  started = false;
  imageID = "";
  pid: number | undefined;
  frozen = false;
  /** The file that what runs now, or ran last, writes to. */
  log = "";
  readonly #host: ContainerHost;
  readonly #ending = new AbortController();
  #probes = new AbortController();
  #exited: Promise<void> = Promise.resolve();
  #backoff: Backoff;

  constructor(host: ContainerHost, before?: ContainerStatus) {
    this.#host = host;
    this.#backoff = new Backoff(host.backoff.first, host.backoff.max);
    if (!before) return;
    // Found after our own restart: its process is gone, the count goes on.
    const ran = before.state?.running ?? before.state?.terminated ?? before.lastState?.terminated;
    this.restartCount = before.restartCount + (ran ? 1 : 0);
    this.imageID = before.imageID;
    if (before.state?.running) {
      const { startedAt } = before.state.running;
      this.lastState = {
        terminated: {
          exitCode: 137,
          reason: "Error",
          finishedAt: new Date().toISOString(),
          ...(startedAt && { startedAt }),
        },
      };
    } else if (before.state?.terminated) this.lastState = { terminated: before.state.terminated };
    else if (before.lastState) this.lastState = before.lastState;
  }

  /** Runs until the restart policy says it is done, or `end` is called. Resolves with the last exit code. */
  async run(policy: RestartPolicy): Promise<number> {
    for (;;) {
      const code = await this.#once();
      if (this.#ending.signal.aborted) return code ?? 137;
      if (code !== undefined) {
        if (policy === "Never" || (policy === "OnFailure" && code === 0)) return code;
      }
      await this.#wait(code);
      if (this.#ending.signal.aborted) return code ?? 137;
      if (code !== undefined) this.restartCount++;
    }
  }

  /** Asks it to stop, insists after the grace period, and resolves when it is gone. For good. */
  async end(graceSeconds: number): Promise<void> {
    this.#ending.abort();
    await this.kill(graceSeconds);
    if (this.state.waiting) this.ready = false;
  }

  /** Stops the process that runs now; the restart policy decides what follows. */
  async kill(graceSeconds: number, reason?: string): Promise<void> {
    const pid = this.pid;
    if (pid === undefined) return;
    if (reason) this.#host.event("Normal", "Killing", reason);
    this.#probes.abort();
    const grace = sleep(graceSeconds * 1000);
    if (graceSeconds > 0) {
      await Promise.race([this.#preStop(pid, graceSeconds), grace]);
      this.signal("SIGTERM");
      await Promise.race([this.#exited, grace]);
    }
    if (this.pid === pid) this.signal("SIGKILL");
    await this.#exited;
  }

  /** Sends a signal to the container's processes; false when nothing runs. */
  signal(name: NodeJS.Signals): boolean {
    if (this.pid === undefined) return false;
    if (name === "SIGSTOP") this.frozen = true;
    if (name === "SIGCONT") this.frozen = false;
    return sendSignal(-this.pid, name);
  }

  status(): ContainerStatus {
    const { name, image = "", resources } = this.#host.spec();
    return {
      name,
      image,
      imageID: this.imageID,
      ...(this.pid !== undefined && { containerID: `process://${this.pid}` }),
      state: this.state,
      lastState: this.lastState,
      ready: this.ready,
      started: this.started,
      restartCount: this.restartCount,
      ...(resources && { resources }),
    };
  }

  async #once(): Promise<number | undefined> {
    const spec = this.#host.spec();
    let started: Started;
    try {
      started = await this.#host.start(spec, this.restartCount);
    } catch (error) {
      if (!(error instanceof StartFailure)) throw error;
      this.state = { waiting: { reason: error.reason, message: error.message } };
      this.#host.event("Warning", "Failed", error.message);
      this.#host.changed();
      return undefined;
    }
    const { child, pid, imageID } = started;
    const startedAt = new Date().toISOString();
    const exit = new Promise<number>((resolve) =>
      child.once("exit", (code, signal) => resolve(exitCode(code, signal))),
    );
    this.pid = pid;
    this.imageID = imageID;
    this.log = started.log;
    this.frozen = false;
    this.state = { running: { startedAt } };
    this.started = !spec.startupProbe;
    this.ready = !spec.readinessProbe && this.started;
    this.#exited = exit.then(() => {});
    this.#probes = new AbortController();
    if (this.#ending.signal.aborted) sendSignal(-pid, "SIGKILL");
    else this.#startProbes(spec, pid);
    this.#host.changed();

    const code = await exit;
    this.#probes.abort();
    sendSignal(-pid, "SIGKILL"); // what it left behind in its session
    this.pid = undefined;
    this.ready = false;
    this.started = false;
    const message = lastWords(started, spec, code);
    this.state = {
      terminated: {
        exitCode: code,
        reason: code === 0 ? "Completed" : "Error",
        startedAt,
        finishedAt: new Date().toISOString(),
        containerID: `process://${pid}`,
        ...(message && { message }),
      },
    };
    this.#backoff.ran(Date.now() - Date.parse(startedAt));
    this.#host.changed();
    return code;
  }

  /** The pause before the next start; the first one is none. */
  async #wait(code: number | undefined): Promise<void> {
    const ms = this.#backoff.next();
    if (code !== undefined) this.lastState = this.state;
    if (ms === 0) return;
    const waiting = this.state.waiting?.reason;
    this.state = {
      waiting: {
        reason: waiting === "ErrImagePull" ? "ImagePullBackOff" : (waiting ?? "CrashLoopBackOff"),
        message:
          this.state.waiting?.message ??
          `back-off ${ms / 1000}s restarting failed container=${this.#host.spec().name}`,
      },
    };
    this.#host.event("Warning", "BackOff", this.state.waiting?.message ?? "");
    this.#host.changed();
    await sleep(ms, undefined, { signal: this.#ending.signal }).catch(() => {});
  }

  #startProbes(spec: Container, pid: number): void {
    const target = { container: spec, podIP: this.#host.podIP(), pid };
    const loop = (
      probe: Probe,
      kind: string,
      result: (ok: boolean, message: string) => void,
      early?: number[],
    ) => {
      const failed = (message: string) =>
        this.#host.event("Warning", "Unhealthy", `${kind} probe failed: ${message}`);
      const signal = this.#probes.signal;
      void probeLoop({ probe, target, signal, result, failed, ...(early && { early }) });
    };
    const fatal = (kind: string, probe: Probe, message: string) => {
      const grace = probe.terminationGracePeriodSeconds ?? this.#host.graceSeconds();
      void this.kill(grace, `Container ${spec.name} failed ${kind} probe, will be restarted: ${message}`);
    };
    const afterStartup = () => {
      const { livenessProbe, readinessProbe } = spec;
      if (livenessProbe)
        loop(livenessProbe, "Liveness", (ok, message) => ok || fatal("liveness", livenessProbe, message));
      if (!readinessProbe) {
        this.#set(true, true);
        return;
      }
      // A kubelet also looks about a second after the start, when it hears that the container runs.
      loop(readinessProbe, "Readiness", (ok) => this.#set(true, ok), [1000]);
    };
    const { startupProbe } = spec;
    if (!startupProbe) {
      afterStartup();
      return;
    }
    loop(startupProbe, "Startup", (ok, message) => {
      if (!ok) fatal("startup", startupProbe, message);
      else if (!this.started) {
        this.#probes.abort();
        this.#probes = new AbortController();
        this.#set(true, false);
        afterStartup();
      }
    });
  }

  #set(started: boolean, ready: boolean): void {
    if (this.started === started && this.ready === ready) return;
    this.started = started;
    this.ready = ready;
    this.#host.changed();
  }

  async #preStop(pid: number, graceSeconds: number): Promise<void> {
    const hook = this.#host.spec().lifecycle?.preStop;
    if (!hook) return;
    if (hook.sleep) await sleep(hook.sleep.seconds * 1000);
    else
      await attempt(
        hook,
        { container: this.#host.spec(), podIP: this.#host.podIP(), pid },
        graceSeconds * 1000,
      );
  }
}

function exitCode(code: number | null, signal: NodeJS.Signals | null): number {
  return code ?? 128 + (signal ? constants.signals[signal] : 0);
}

function lastWords({ terminationMessage, log }: Started, spec: Container, code: number): string | undefined {
  const words = existsSync(terminationMessage) ? readFileSync(terminationMessage, "utf8").slice(0, 4096) : "";
  if (words || spec.terminationMessagePolicy !== "FallbackToLogsOnError" || code === 0)
    return words || undefined;
  return existsSync(log) ? readFileSync(log, "utf8").slice(-2048) : undefined;
}
