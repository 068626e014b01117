/** The model's side: its processes, its disks and its clock. A call takes as much virtual time as it needs. */
import { Caller } from "../../../../src/etcd/caller.ts";
import { explainExit } from "../../../../src/etcd/process.ts";
import { VirtualClock } from "../../../engine/clock.ts";
import { ModelTransport } from "../../../machine/model-transport.ts";
import { SeededRandom } from "../../../engine/random.ts";
import { Scheduler } from "../../../engine/scheduler.ts";
import { Calls } from "../calls.ts";
import { Keys } from "../kv.ts";
import { MapDirs } from "../lab.ts";
import type { Server, ServerEnd } from "../server.ts";
import { EtcdWorld } from "../world.ts";
import { Bearer } from "./bearer.ts";
import { perform, type Call, type Outcome } from "./calls.ts";
import { restoredFrom, snapshotOf } from "../restored.ts";
import type { Op } from "../entry.ts";
import type { ProcessState, RestoreHow, Side, Slot, Start } from "./side.ts";
import { watchAnswer } from "./watched.ts";

/** Longer than any election and any end of a removed member. */
const CALM_MS = 2_300;
const LONGEST_CALM_MS = 12_000;
const LONGEST_CALL_MS = 30_000;

interface Process {
  readonly server: Server | undefined;
  readonly lines: string[];
  end: ServerEnd | undefined;
  wanted: boolean;
}

export class ModelSide implements Side {
  readonly atOnce = false;
  readonly disk = new MapDirs();
  readonly scheduler: Scheduler;
  readonly world: EtcdWorld;
  /** Wall time for the IDs of added members (R5): the real side's, so that both get the same. */
  wallMs = 0;
  readonly bearer: Bearer;
  readonly #caller: Caller;
  readonly #calls: Calls;
  #saved: readonly Op[] = [];
  readonly #processes = new Map<string, Process>();
  #started = 0;

  constructor(random: SeededRandom) {
    this.scheduler = new Scheduler(random.fork(), { limit: Infinity });
    this.world = new EtcdWorld({ scheduler: this.scheduler, random: random.fork(), dirs: this.disk });
    const calls = new Calls(this.world, () => this.wallMs);
    const transport = new ModelTransport({
      world: this.world,
      calls,
      keys: new Keys(this.world),
      random: random.fork(),
    });
    this.#calls = calls;
    this.bearer = new Bearer(transport, (commonName) => transport.as(commonName));
    this.#caller = new Caller({
      transport: this.bearer,
      clock: new VirtualClock(this.scheduler),
      endpoints: [],
    });
  }

  async clear(): Promise<void> {
    for (const { server } of this.#processes.values()) if (server) this.world.signal(server, "SIGKILL");
    await this.pass(100);
    this.#processes.clear();
    this.disk.dirs.clear();
  }

  async start(slot: Slot, { version, config }: Start): Promise<void> {
    const lines: string[] = [];
    const server = this.world.start({
      key: `${slot.name}/${++this.#started}`,
      version,
      configText: JSON.stringify(config),
      print: (line) => lines.push(line),
      onEnd: (end) => (process.end = end),
    });
    const process: Process = { server, lines, end: undefined, wanted: false };
    this.#processes.set(slot.name, process);
    await this.pass(1);
  }

  async stop(slot: Slot, signal: "SIGTERM" | "SIGKILL"): Promise<void> {
    const process = this.#processes.get(slot.name);
    if (process?.server) {
      process.wanted = true;
      this.world.signal(process.server, signal);
      await this.pass(100);
    }
    this.#processes.delete(slot.name);
  }

  process(slot: Slot): ProcessState {
    const process = this.#processes.get(slot.name);
    if (process === undefined) return "absent";
    const { end } = process;
    if (end === undefined) return "runs";
    const exit = end.kind === "exited" ? { code: end.code } : { signal: end.signal };
    return `ended: ${explainExit(exit, process.lines, process.wanted).reason}`;
  }

  lastWords(slot: Slot): Promise<string> {
    return Promise.resolve(this.#processes.get(slot.name)?.lines.at(-1) ?? "");
  }

  wipe(slot: Slot): void {
    this.disk.dirs.delete(slot.name);
  }

  save(slot: Slot): Promise<void> {
    const server = this.server(slot);
    if (!server) throw new Error(`${slot.name} does not run`);
    this.#saved = snapshotOf(server.dir);
    return Promise.resolve();
  }

  restore({ name, peerUrl }: Slot, { token, bump }: RestoreHow): Promise<void> {
    this.disk.write(name, restoredFrom({ name, peerURL: peerUrl, token }, this.#saved, bump));
    return Promise.resolve();
  }

  async call(slot: Slot, call: Call, timeoutMs: number): Promise<Outcome> {
    if (call.kind === "watch") return this.#watched(slot, call.revision);
    let outcome: Outcome | undefined;
    const asked = perform(this.#caller, { url: slot.clientUrl }, call, timeoutMs).then(
      (answer) => (outcome = answer),
    );
    const limit = this.scheduler.now + LONGEST_CALL_MS;
    await this.scheduler.runAsyncUntil(limit, () => outcome !== undefined);
    return await asked;
  }

  /** The model has no streams: what comes of one is the same at once. */
  #watched(slot: Slot, revision: number): Outcome {
    const server = this.server(slot);
    const failed = (code: string, error: string) => ({ ok: false, code, error, said: "" }) as const;
    if (!server) return failed("UNAVAILABLE", "unavailable");
    if (server.isLearner) return failed("FAILED_PRECONDITION", "rpc-not-supported-for-learner");
    return { ok: true, value: watchAnswer(this.#calls.watch(server, revision)) };
  }

  clusterVersion(slot: Slot): Promise<string | undefined> {
    return Promise.resolve(this.server(slot)?.dir.state.clusterVersion);
  }

  /** The process of this slot, if it runs. */
  server(slot: Slot): Server | undefined {
    const server = this.#processes.get(slot.name)?.server;
    return server?.runs ? server : undefined;
  }

  /**
   * etcd keeps the hash of a compaction only if the one before had ended: whether it had, when two come soon after each
   * other or a log is replayed, is a race. The model keeps it, until a real member shows that it did not. False when
   * there is none at this revision.
   */
  forgetHash(slot: Slot, revision: number): boolean {
    const state = this.server(slot)?.dir.state;
    const kept = state?.compactions.filter((one) => one.revision !== revision) ?? [];
    if (!state || kept.length === state.compactions.length) return false;
    state.compactions = kept;
    return true;
  }

  async pass(ms: number): Promise<void> {
    await this.scheduler.runAsyncUntil(this.scheduler.now + ms);
  }

  /** Lets everything happen that happens by itself. */
  async calm(): Promise<void> {
    const start = this.scheduler.now;
    await this.pass(CALM_MS);
    const waits = () =>
      [...this.#processes.values()].some(({ server, end }) => server && !end && !server.serving);
    while (waits() && this.scheduler.now < start + LONGEST_CALM_MS) await this.pass(250);
  }

  /** Makes this one the leader, as the real side has it. */
  lead(slot: Slot): boolean {
    const server = this.server(slot);
    if (!server) return false;
    return this.world.raftOf(server).crown(server);
  }
}
