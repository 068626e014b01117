/**
 * A schedule of snapshots beside a directly simulated cluster, with a store that works or refuses: what the operator
 * makes before another minor version is taken here. Nothing else of snapshots is played; the operator's simulator does.
 */
import type { Action } from "../../src/core/action.ts";
import type { Observation } from "../../src/core/observation.ts";
import type { SnapshotEffect } from "../../src/core/snapshots/effect.ts";
import type {
  JobFacts,
  ScheduleFacts,
  SnapshotFacts,
  SnapshotState,
} from "../../src/core/snapshots/facts.ts";
import { jobName } from "../../src/core/snapshots/names.ts";
import { assertSnapshotBefore } from "../../src/core/testing/naive-snapshots.ts";
import { viewOf } from "../../src/core/view.ts";
import { Violation } from "../oracles/oracle.ts";

const TAKES_MS = 2_000;

interface Job {
  readonly name: string;
  readonly endsAt: number;
  readonly denied: boolean;
}

export class Backups {
  /** Undefined: nobody takes any. */
  #schedule: ScheduleFacts | undefined;
  readonly #snapshots = new Map<string, SnapshotFacts>();
  readonly #jobs = new Map<string, Job>();
  readonly #now: () => number;
  denies = false;
  /** Something is done after so many milliseconds. */
  onStart: (afterMs: number) => void = () => {};

  constructor(now: () => number) {
    this.#now = now;
  }

  begin(): void {
    this.#schedule ??= {
      name: "nightly",
      uid: "schedule-1",
      resourceVersion: "1",
      generation: 1,
      createdAt: this.#now(),
      deleting: false,
      spec: { cluster: "demo", schedule: "@yearly", destination: { s3: { bucket: "backups" } } },
      status: {},
    };
  }

  /** A person resolves what failed. */
  mend(): void {
    this.denies = false;
    for (const { name, status } of this.#snapshots.values())
      if (status.phase === "Failed") this.#snapshots.delete(name);
  }

  get state(): SnapshotState | undefined {
    if (!this.#schedule) return undefined;
    const snapshots = [...this.#snapshots.values()].map((one) => ({ ...one, jobs: this.#jobsOf(one) }));
    return { snapshots, schedules: [this.#schedule] };
  }

  /** How all of them ended. */
  get outcomes(): string[] {
    return [...this.#snapshots.values()].map(({ before, status }) => `${before} ${status.phase}`);
  }

  #jobsOf({ uid }: SnapshotFacts): JobFacts[] {
    const job = this.#jobs.get(uid);
    if (!job) return [];
    const agoMs = this.#now() - job.endsAt;
    const { name, denied } = job;
    const ended = denied
      ? ({ is: "failed", agoMs, reason: "StoreDenied", message: "denied", reported: true } as const)
      : ({ is: "succeeded", agoMs, taken: { uri: `s3://backups/${uid}`, revision: 7 } } as const);
    const state = agoMs < 0 ? ({ is: "running", pod: `${name}-x` } as const) : ended;
    return [{ name, uid: `${uid}-job`, task: "save", attempt: 1, deleting: false, state }];
  }

  execute(effect: SnapshotEffect): void {
    switch (effect.kind) {
      case "CreateSnapshotBefore": {
        const { name, minor, schedule } = effect;
        if (this.#snapshots.has(name)) return;
        const { cluster, destination } = schedule.spec;
        this.#snapshots.set(name, {
          name,
          uid: `${name}-uid`,
          resourceVersion: "1",
          generation: 1,
          createdAt: this.#now(),
          deleting: false,
          held: false,
          spec: { cluster, destination, verify: false },
          status: {},
          before: minor,
          jobs: [],
        });
        return;
      }
      case "UpdateSnapshot": {
        const { snapshot, status } = effect;
        const known = this.#snapshots.get(snapshot.name);
        // Changed meanwhile: the next pass sees it as it is.
        if (known?.resourceVersion !== snapshot.resourceVersion) return;
        const resourceVersion = String(Number(known.resourceVersion) + 1);
        this.#snapshots.set(snapshot.name, { ...known, status, resourceVersion });
        return;
      }
      case "StartJob": {
        const { snapshot, task, attempt } = effect;
        if (this.#jobs.has(snapshot.uid)) return;
        const name = jobName(snapshot, task, attempt);
        this.#jobs.set(snapshot.uid, { name, endsAt: this.#now() + TAKES_MS, denied: this.denies });
        this.onStart(TAKES_MS);
        return;
      }
      case "ForgetSnapshot":
        this.#snapshots.delete(effect.snapshot.name);
        return;
      case "UpdateSchedule":
        if (this.#schedule) this.#schedule = { ...this.#schedule, status: effect.status };
        return;
      default:
        throw new Violation("snapshots", `${effect.kind} was decided, which nobody asked for`);
    }
  }
}

/** Nobody crosses a minor before the snapshot is good, as long as the operator sees a quorum. */
export function judgeCrossing(observation: Observation, action: Action): void {
  const { established, hasQuorum } = viewOf(observation);
  try {
    assertSnapshotBefore(observation, action, established && hasQuorum);
  } catch (error) {
    throw new Violation("snapshot before", error instanceof Error ? error.message : String(error));
  }
}
