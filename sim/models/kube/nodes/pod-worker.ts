/**
 * One Pod on one node: waits for what it mounts, starts its containers, restarts them with a growing wait, asks
 * their probes, and ends them in order. What it knows is its own; it reports when its node can reach the server.
 */
import type { SeededRandom } from "../../../engine/random.ts";
import type { Scheduled, Scheduler } from "../../../engine/scheduler.ts";
import { items, json, type Json, type KubeJson } from "../object.ts";
import type { Ending, Hooks, Running, Start } from "./hooks.ts";
import type { ContainerFacts, PodFacts } from "./pod-status.ts";

export interface WorkerOptions {
  readonly pod: KubeJson;
  readonly node: string;
  readonly hostIP: string;
  readonly ip: string;
  readonly scheduler: Scheduler;
  readonly random: SeededRandom;
  readonly now: () => number;
  readonly hooks: Hooks;
  /** Why it cannot be mounted yet; undefined when it can. */
  readonly obstacle: (pod: KubeJson) => string | undefined;
  readonly disks: (pod: KubeJson) => Readonly<Record<string, string>>;
  readonly files: (pod: KubeJson, volume: string) => Readonly<Record<string, string>>;
  readonly onChange: () => void;
  /** Everything has ended after `stop`. */
  readonly onStopped: () => void;
}

/** Restarts wait 10 s, doubling to 5 min; ten minutes without an end are a fresh start. */
const RESTART_MS = 500;
const BACK_OFF_MS = 10_000;
const LONGEST_BACK_OFF_MS = 300_000;
const FORGIVEN_AFTER_MS = 600_000;
/** Pulling (mostly there already) and starting. */
const START_MS = [200, 1_500] as const;
const PROBE_S = 10;

interface Slot {
  readonly spec: Json;
  readonly facts: ContainerFacts;
  running: Running | undefined;
  /** Tells an end of this start from one of an earlier. */
  life: number;
  /** For how long its liveness probe has failed. */
  silentS: number;
}

export class PodWorker {
  readonly #options: WorkerOptions;
  readonly #init: ContainerFacts[];
  readonly #slots: readonly Slot[];
  readonly #timers = new Set<Scheduled>();
  readonly #startedAt: number;
  #prepared = false;
  #stopping = false;
  #over = false;
  #evicted: string | undefined;

  constructor(options: WorkerOptions) {
    this.#options = options;
    this.#startedAt = options.now();
    const spec = json(options.pod["spec"]);
    this.#init = items(spec["initContainers"]).map((one) => fresh(one, "PodInitializing"));
    this.#slots = items(spec["containers"]).map((one) => ({
      spec: one,
      facts: fresh(one, "ContainerCreating"),
      running: undefined,
      life: 0,
      silentS: 0,
    }));
    this.look();
  }

  get pod(): KubeJson {
    return this.#options.pod;
  }

  get facts(): PodFacts {
    const { hostIP, ip } = this.#options;
    return {
      ip: this.#prepared ? ip : undefined,
      hostIP,
      startedAt: this.#startedAt,
      init: this.#init,
      main: this.#slots.map(({ facts }) => facts),
      evicted: this.#evicted,
    };
  }

  /** Something that it mounts may have come. */
  look(): void {
    if (this.#prepared || this.#stopping || this.#over) return;
    const why = this.#options.obstacle(this.pod);
    if (why !== undefined) {
      for (const { facts } of this.#slots)
        facts.state = { is: "waiting", reason: "ContainerCreating", message: why };
      this.#options.onChange();
      return;
    }
    this.#prepared = true;
    this.#after(this.#options.random.between(...START_MS), () => this.#initialize(0));
  }

  #after(ms: number, run: () => void): void {
    const timer = this.#options.scheduler.after(ms, () => {
      this.#timers.delete(timer);
      if (!this.#over) run();
    });
    this.#timers.add(timer);
  }

  #start(container: string, restarts: number): Omit<Start, "ended"> {
    const { node, ip, disks, files } = this.#options;
    return {
      pod: this.pod,
      container,
      node,
      ip,
      restarts,
      disks: disks(this.pod),
      files: (volume) => files(this.pod, volume),
    };
  }

  #initialize(index: number): void {
    if (this.#stopping) return;
    const facts = this.#init[index];
    if (facts === undefined) {
      for (const slot of this.#slots) this.#run(slot);
      return;
    }
    const now = this.#options.now();
    if (!this.#hasImage(facts)) return this.#after(BACK_OFF_MS, () => this.#initialize(index));
    if (facts.sidecar) {
      facts.state = { is: "running", since: now };
      facts.started = facts.ready = true;
      this.#options.onChange();
      return this.#initialize(index + 1);
    }
    const how = this.#options.hooks.onInit?.(this.#start(facts.name, facts.restarts)) ?? { exitCode: 0 };
    if (facts.state.is === "ended") {
      facts.last = facts.state;
      facts.restarts++;
    }
    facts.state = { is: "ended", since: now, at: now, how };
    this.#options.onChange();
    if (how.exitCode === 0) this.#initialize(index + 1);
    else if (json(this.pod["spec"])["restartPolicy"] !== "Never")
      this.#after(backOffMs(facts.restarts + 1), () => this.#initialize(index));
  }

  #hasImage(facts: ContainerFacts): boolean {
    if (this.#options.hooks.hasImage?.(facts.image) !== false) return true;
    const message = `Back-off pulling image "${facts.image}"`;
    facts.state = { is: "waiting", reason: "ImagePullBackOff", message };
    this.#options.onChange();
    return false;
  }

  #run(slot: Slot): void {
    if (this.#stopping) return;
    const { facts } = slot;
    if (!this.#hasImage(facts)) return this.#after(BACK_OFF_MS, () => this.#run(slot));
    const life = ++slot.life;
    facts.state = { is: "running", since: this.#options.now() };
    facts.started = true;
    const start: Start = {
      ...this.#start(facts.name, facts.restarts),
      ended: (how) => this.#ended(slot, life, how),
    };
    slot.running = this.#options.hooks.onStart?.(start) ?? {
      stop: () => start.ended({ exitCode: 0 }),
      kill: () => undefined,
    };
    // It may have ended before it was even known to run.
    if (slot.life !== life || slot.facts.state.is !== "running") slot.running = undefined;
    this.#probe(slot, life);
    this.#options.onChange();
  }

  /** Asks its probes from now on, in the rhythm that the Pod states. */
  #probe(slot: Slot, life: number): void {
    const { running, facts, spec } = slot;
    if (slot.life !== life || facts.state.is !== "running" || running === undefined) return;
    const ready = running.isReady?.() ?? true;
    if (ready !== facts.ready) {
      facts.ready = ready;
      this.#options.onChange();
    }
    const liveness = json(spec["livenessProbe"]);
    const seconds = Number(json(spec["readinessProbe"])["periodSeconds"] ?? PROBE_S);
    slot.silentS = running.isAlive?.() === false ? slot.silentS + seconds : 0;
    const patience = Number(liveness["failureThreshold"] ?? 3) * Number(liveness["periodSeconds"] ?? PROBE_S);
    if (slot.silentS >= patience) {
      slot.silentS = 0;
      running.kill();
      this.#ended(slot, life, { exitCode: 137, reason: "Error", message: "liveness probe failed" });
      return;
    }
    if (running.isReady === undefined && running.isAlive === undefined) return;
    this.#after(seconds * 1_000, () => this.#probe(slot, life));
  }

  #ended(slot: Slot, life: number, how: Ending): void {
    const { facts } = slot;
    if (this.#over || slot.life !== life || facts.state.is !== "running") return;
    const now = this.#options.now();
    const { since } = facts.state;
    slot.running = undefined;
    facts.ready = facts.started = false;
    facts.state = { is: "ended", since, at: now, how };
    const policy = json(this.pod["spec"])["restartPolicy"];
    const again = policy === "Always" || (policy === "OnFailure" && how.exitCode !== 0);
    if (!this.#stopping && again) this.#restart(slot, now - since > FORGIVEN_AFTER_MS);
    this.#endSidecars(now);
    this.#options.onChange();
    if (this.#stopping) this.#settle();
  }

  /** They serve the others, and end after them, by a signal. */
  #endSidecars(now: number): void {
    if (this.#slots.some(({ facts }) => facts.state.is !== "ended")) return;
    for (const facts of this.#init)
      if (facts.sidecar && facts.state.is === "running")
        facts.state = {
          is: "ended",
          since: facts.state.since,
          at: now,
          how: { exitCode: 143, reason: "Error" },
        };
  }

  #restart(slot: Slot, forgiven: boolean): void {
    const { facts } = slot;
    const { restartMs = RESTART_MS } = this.#options.hooks;
    const waitMs = facts.restarts === 0 || forgiven ? restartMs : backOffMs(facts.restarts);
    const { state } = facts;
    if (state.is === "ended") facts.last = state;
    if (waitMs >= BACK_OFF_MS) {
      const message = `back-off ${waitMs / 1_000}s restarting failed container=${facts.name}`;
      facts.state = { is: "waiting", reason: "CrashLoopBackOff", message };
    }
    this.#after(waitMs, () => {
      facts.restarts++;
      this.#run(slot);
    });
  }

  /** In order: each is asked, and killed when its time is over. */
  stop(graceMs: number): void {
    if (this.#stopping || this.#over) return;
    this.#stopping = true;
    for (const slot of this.#slots) slot.running?.stop();
    this.#after(graceMs, () => this.#killAll({ exitCode: 137, reason: "Error" }));
    this.#settle();
  }

  #killAll(how: Ending): void {
    for (const slot of this.#slots) {
      slot.running?.kill();
      this.#ended(slot, slot.life, how);
    }
  }

  #settle(): void {
    if (this.#slots.some(({ facts }) => facts.state.is === "running")) return;
    this.#finish();
    this.#options.onStopped();
  }

  #finish(): void {
    this.#over = true;
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
  }

  /** The node ends it to save itself. */
  evict(message: string): void {
    this.#evicted = message;
    this.#stopping = true;
    this.#killAll({ exitCode: 137, reason: "Error" });
    this.#finish();
    this.#options.onChange();
  }

  /** Gone without a word: power loss, or nobody wants it any more. */
  kill(): void {
    for (const { running } of this.#slots) running?.kill();
    this.#finish();
  }

  freeze(): void {
    for (const { running } of this.#slots) running?.freeze?.();
  }

  thaw(): void {
    for (const { running } of this.#slots) running?.thaw?.();
  }

  /** What its containers have been through before their node lost power. */
  inherit(before: PodFacts, now: number): void {
    for (const { facts } of this.#slots) {
      const old = before.main.find(({ name }) => name === facts.name);
      if (old === undefined) continue;
      facts.restarts = old.restarts + 1;
      const since = old.state.is === "running" ? old.state.since : now;
      facts.last = { since, at: now, how: { exitCode: 255, reason: "Unknown" } };
    }
  }
}

function fresh(spec: Json, reason: string): ContainerFacts {
  return {
    name: String(spec["name"]),
    image: String(spec["image"]),
    state: { is: "waiting", reason },
    last: undefined,
    restarts: 0,
    ready: false,
    started: false,
    sidecar: spec["restartPolicy"] === "Always",
  };
}

function backOffMs(restarts: number): number {
  return Math.min(LONGEST_BACK_OFF_MS, BACK_OFF_MS * 2 ** (restarts - 1));
}
