/**
 * A cluster on the real local platform (its store, controller and etcd processes) in a temporary directory. A test
 * lets it run, or takes one pass after the other and meddles between two of them.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import type { EtcdClusterSpec, EtcdClusterSpecInput } from "../../src/api/etcd-cluster-spec.ts";
import { API_VERSION } from "../../src/api/metadata.ts";
import { execute } from "../../src/control/execute.ts";
import type { Pass } from "../../src/control/loop.ts";
import type { TranscriptEntry } from "../../src/control/transcript.ts";
import type { Act } from "../../src/core/action.ts";
import { decide } from "../../src/core/decide.ts";
import type { MemberRecord } from "../../src/core/record.ts";
import { viewOf, type MemberView, type View } from "../../src/core/view.ts";
import { EtcdClient } from "../../src/etcd/client.ts";
import { GrpcTransport } from "../../src/etcd/grpc/transport.ts";
import { HttpProbe } from "../../src/etcd/probe.ts";
import { checkManifest } from "../../src/local/change.ts";
import { Controller } from "../../src/local/controller.ts";
import { createCluster } from "../../src/local/create.ts";
import { layout, type Layout } from "../../src/local/layout.ts";
import { connectWith } from "../../src/local/machine.ts";
import { Store } from "../../src/local/store.ts";
import { systemClock } from "../../src/seams/clock.ts";
import { systemDisk } from "../../src/seams/disk.ts";
import { etcdOf } from "./etcd-cluster.ts";
import {
  hurriedClock,
  rememberedProcesses,
  seams,
  standBetween,
  type Child,
  type LocalOptions,
} from "./local-seams.ts";
import { nameOf, storyOf } from "./local-story.ts";

export { inOrder } from "./local-story.ts";
import { tell } from "./tell.ts";

export const CLUSTER = "demo";
const PATIENCE_MS = 150_000;

export class LocalCluster {
  /** Side by side with others of other tests, so that they see each other's ports. */
  readonly files: Layout = layout(mkdtempSync(path.join(os.tmpdir(), "quorate-local-")));
  readonly #idleStore = new Store(this.files, seams);
  /** Every step of every controller of this test, done or failed. */
  readonly steps: TranscriptEntry[] = [];
  readonly troubles: unknown[] = [];
  readonly #options: LocalOptions;
  /** Every etcd process that was started. */
  readonly children: Child[] = [];
  readonly #closing: (() => Promise<void> | void)[] = [];
  /** The spec as it passed the checks. */
  #spec: EtcdClusterSpec | undefined;
  #client: GrpcTransport | undefined;
  #controller: Controller | undefined;
  readonly #opened: Controller[] = [];
  #running: { readonly stop: AbortController; readonly done: Promise<unknown> } | undefined;

  private constructor(options: LocalOptions) {
    this.#options = options;
  }

  /** A cluster that was only asked for, and its controller; plain text unless asked otherwise. */
  static async create(spec: EtcdClusterSpecInput, options: LocalOptions = {}): Promise<LocalCluster> {
    await etcdOf(spec.version);
    const local = new LocalCluster(options);
    try {
      const checked = checkManifest(manifestOf({ tls: { mode: "Disabled" }, ...spec }), undefined);
      await createCluster(local.files, { ...checked, spec: local.#checked(checked.spec) }, seams);
      await local.open();
    } catch (error) {
      await local[Symbol.asyncDispose]();
      throw error;
    }
    return local;
  }

  /** The same, run until it is as its spec says. */
  static async start(spec: EtcdClusterSpecInput, options: LocalOptions = {}): Promise<LocalCluster> {
    const local = await LocalCluster.create(spec, options);
    try {
      local.run();
      await local.settled();
    } catch (error) {
      await local[Symbol.asyncDispose]();
      throw error;
    }
    return local;
  }

  get controller(): Controller {
    if (this.#controller === undefined) throw new Error("no controller is open");
    return this.#controller;
  }

  async open(): Promise<void> {
    const transport = new GrpcTransport({ clock: systemClock });
    const probe = new HttpProbe();
    this.#closing.push(() => probe.close());
    this.#controller = await Controller.open({
      layout: this.files,
      seams: {
        ...seams,
        pki: this.#options.pki ?? seams.pki,
        env: { ...seams.env, ...this.#options.env },
        clock: hurriedClock(this.#options),
        transport,
        probe,
        processes: rememberedProcesses(this.files, this.children, this.#options),
        connect: connectWith(systemClock),
      },
      install: async (version) => (await etcdOf(version)).etcd,
      socket: path.join(this.files.dir, "control.sock"),
      onCredentials: (credentials) => {
        transport.setCredentials(credentials);
        probe.setCredentials(credentials);
        this.#client?.setCredentials(credentials);
      },
      onStep: (entry) => this.steps.push(entry),
      onTrouble: (error) => this.troubles.push(error),
    });
    this.#opened.push(this.#controller);
    standBetween(this.#controller.platform, () => this.store, this.#options);
  }

  /** Lets the controller work by itself. */
  run(): void {
    const stop = new AbortController();
    this.#running = { stop, done: this.controller.run(stop.signal) };
  }

  /** The controller's loop stands still; its members run on. */
  async halt(): Promise<void> {
    this.#running?.stop.abort();
    await this.#running?.done;
    this.#running = undefined;
  }

  /** The controller is gone, its members run on. */
  async crash(): Promise<void> {
    await this.halt();
    await this.#controller?.close({ stopMembers: false });
    this.#controller = undefined;
  }

  /** One pass by hand: what was seen, what was decided, and it is done. */
  async pass(): Promise<Pass & { readonly delayMs: number }> {
    const delayMs = await this.controller.loop.pass();
    const { latest } = this.controller.loop;
    if (delayMs === "gone" || latest === undefined) throw new Error("the cluster is gone");
    return { ...latest, delayMs };
  }

  /** Passes by hand, until one whose step (as in the transcript) was carried out. */
  async passUntilStep(step: string, count = 1): Promise<void> {
    const from = this.steps.length;
    const end = performance.now() + PATIENCE_MS;
    while (this.steps.slice(from).filter((entry) => entry.step === step && !entry.error).length < count) {
      if (performance.now() > end) throw new Error(`no ${step} within ${PATIENCE_MS} ms\n${this.story()}`);
      const { delayMs } = await this.pass();
      await new Promise((resolve) => setTimeout(resolve, Math.min(delayMs, 100)));
    }
  }

  /** What a controller would do on what is seen now, to be carried out later, as by one that was paused. */
  async decideNow(): Promise<{ readonly act: Act; readonly carryOut: () => Promise<void> }> {
    const { platform, loop } = this.controller;
    const observation = await loop.observer.observe();
    const act = observation && decide(observation).act;
    if (!act) throw new Error(`there is nothing to do\n${this.story()}`);
    const executor = { platform, observer: loop.observer, clock: systemClock };
    return { act, carryOut: () => execute(executor, viewOf(observation), act.action) };
  }

  /** Another controller takes the directory, as it would after ours was thought dead. */
  async takeLock(): Promise<void> {
    await systemDisk.write(this.files.lock, "another controller\n");
  }

  /** Waits, while the controller works, for a look at the cluster that satisfies. */
  async until(
    what: string,
    holds: (view: View, pass: Pass) => boolean | Promise<boolean>,
    timeoutMs = PATIENCE_MS,
  ): Promise<View> {
    const end = performance.now() + timeoutMs;
    for (;;) {
      const pass = this.controller.loop.latest;
      const view = pass && viewOf(pass.observation);
      if (pass && view && (await holds(view, pass))) return view;
      if (performance.now() > end) throw new Error(`${what}: not within ${timeoutMs} ms\n${this.story()}`);
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  }

  /** As the present spec says, seen by a pass that knew it. */
  async settled(timeoutMs = PATIENCE_MS): Promise<View> {
    const generation = (await this.store.cluster())?.generation;
    return await this.until(
      "converged",
      (view, { decision }) => decision.converged && view.observation.cluster.generation === generation,
      timeoutMs,
    );
  }

  /** The controller's own while there is one, as its server uses it: it lets no two changes overlap. */
  get store(): Store {
    return this.#controller?.platform.store ?? this.#idleStore;
  }

  /** Changes fields of the spec, through this platform's checks. */
  async edit(change: Partial<EtcdClusterSpecInput>): Promise<void> {
    const stored = await this.store.cluster();
    if (stored === undefined) throw new Error("the cluster is gone");
    const { spec } = checkManifest(manifestOf({ ...(this.#spec ?? stored.spec), ...change }), stored);
    await this.store.updateCluster({ spec: this.#checked(spec) });
    this.controller.loop.wake();
  }

  #checked(spec: EtcdClusterSpec): EtcdClusterSpec {
    this.#spec = spec;
    return this.#options.unchecked?.(spec) ?? spec;
  }

  async records(): Promise<readonly MemberRecord[]> {
    return (await this.store.members()).map(({ record }) => record);
  }

  async names(): Promise<readonly string[]> {
    return (await this.records()).map(({ name }) => name);
  }

  view(): View {
    const { latest } = this.controller.loop;
    if (latest === undefined) throw new Error("nothing was seen yet");
    return viewOf(latest.observation);
  }

  member(name: string): MemberView {
    const member = this.view().members.find((candidate) => candidate.name === name);
    if (member === undefined) throw new Error(`no member ${name}`);
    return member;
  }

  /** What the member would be started with now. */
  config(name: string): Record<string, unknown> {
    return JSON.parse(readFileSync(this.files.configOf(name), "utf8")) as Record<string, unknown>;
  }

  /** A client of all recorded members, as a user would have one. */
  async client(): Promise<EtcdClient> {
    this.#client ??= new GrpcTransport({ clock: systemClock });
    const credentials = await this.controller.platform.certificates.controllerCredentials();
    if (credentials) this.#client.setCredentials(credentials);
    const endpoints = (await this.records()).map((record) => this.controller.platform.endpoint(record));
    return new EtcdClient({ transport: this.#client, clock: systemClock, endpoints, timeoutMs: 5_000 });
  }

  /** How often a member's process was started. */
  startsOf(name: string): number {
    return this.children.filter(({ member }) => member === name).length;
  }

  /** Steps carried out since `from`, as `kind/purpose member`. */
  done(from = 0): string[] {
    return this.steps.slice(from).flatMap((entry) => (entry.error === undefined ? [nameOf(entry)] : []));
  }

  /** The same with those that failed: a member that is removed may end before it has answered. */
  tried(from = 0): string[] {
    return this.steps.slice(from).map(nameOf);
  }

  /** What happened, for the message of a failed test. */
  story(): string {
    return storyOf(this.steps, this.#controller?.loop.latest, this.troubles);
  }

  /** All that the controllers saw last, did, and met. */
  seen(): string {
    const latest = this.#controller?.loop.latest;
    return JSON.stringify([latest, this.steps, this.troubles.map(String)], (_key, value: unknown) =>
      typeof value === "bigint" ? String(value) : value,
    );
  }

  /** Loses a member's data as an emptied tmpfs would: the process dies, the volume is there and empty. */
  async wipe(name: string): Promise<void> {
    const { data } = this.files.volume(name);
    await this.controller.platform.workloads.whileDown(name, async () => {
      await systemDisk.remove(data);
      await systemDisk.makeDirectory(data);
    });
  }

  /** Loses a member's volume as a whole. */
  async loseVolume(name: string): Promise<void> {
    const { dir } = this.files.volume(name);
    await this.controller.platform.workloads.whileDown(name, () => systemDisk.remove(dir));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    tell("what controllers saw and did", this.seen());
    await this.crash();
    for (const child of this.children) child.signal("SIGKILL");
    // A timer keeps us awake: a detached child does not.
    const awake = setInterval(() => undefined, 1_000);
    await Promise.all(this.children.map((child) => child.exit));
    // Every controller of this test hears of these ends, and writes them down: not after the directory is gone.
    for (const { platform } of this.#opened) {
      for (const name of platform.workloads.names()) await platform.workloads.kill(name, "SIGKILL");
      await platform.workloads.stopAndWait([]);
    }
    clearInterval(awake);
    await this.#client?.close();
    for (const close of this.#closing) await close();
    rmSync(this.files.dir, { recursive: true, force: true });
  }
}

function manifestOf(spec: EtcdClusterSpecInput): unknown {
  return { apiVersion: API_VERSION, kind: "EtcdCluster", metadata: { name: CLUSTER }, spec };
}
