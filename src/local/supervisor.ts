/**
 * What a kubelet does for Pods: starts members that should run, starts again those that ended, kills those that hang.
 * Whether one should run follows from its record and its volume.
 */
import type { RestoreRecipe } from "../api/bootstrap.ts";
import type { Applied } from "../control/platform.ts";
import { shouldRun } from "../core/assess/should-run.ts";
import type { MemberRecord } from "../core/record.ts";
import type { MemberView, View } from "../core/view.ts";
import type { Clock } from "../seams/clock.ts";
import type { EtcdProbe } from "../seams/etcd-probe.ts";
import { SpawnError } from "../seams/processes.ts";
import type { Binaries } from "./binaries.ts";
import type { Configuration } from "./configuration.ts";
import type { Layout } from "./layout.ts";
import { Liveness } from "./liveness.ts";
import type { Restores } from "./restores.ts";
import type { Volumes } from "./volumes.ts";
import { Warming } from "./warming.ts";
import type { Workloads } from "./workloads.ts";

/** What was done about a process: nothing, a start, or it waits for another one to serve first. */
type Started = "left" | "started" | "queued";

export interface SupervisorOptions {
  readonly workloads: Workloads;
  readonly volumes: Volumes;
  readonly configuration: Configuration;
  readonly binaries: Binaries;
  readonly restores: Restores;
  readonly layout: Layout;
  readonly clock: Clock;
  readonly probe: EtcdProbe;
}

export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #liveness: Liveness;
  readonly #warming: Warming;

  constructor(options: SupervisorOptions) {
    const { clock, probe } = options;
    this.#options = options;
    this.#liveness = new Liveness(clock, probe);
    this.#warming = new Warming(clock, probe);
  }

  async keepRunning(view: View): Promise<Applied> {
    const { volumes, workloads } = this.#options;
    for (const { record, workload, answer } of view.members) {
      if (workload.state !== "running") continue;
      if (!record.joined) await volumes.noteUse(record);
      if (answer.reachable && answer.linearizable) workloads.noteServing(record.name);
      if (this.#liveness.isDead(record, workloads.startOf(record.name), answer.reachable)) {
        this.#liveness.forget(record.name);
        await workloads.kill(record.name, "SIGKILL");
      }
    }
    return await this.start(
      view,
      view.members.filter(({ workload }) => workload.state === "exited"),
    );
  }

  /** Starts those of these members that should run and whose back-off is over. */
  async start(view: View, members: readonly MemberView[]): Promise<Applied> {
    const { clock, workloads } = this.#options;
    const results = new Set<Started>();
    for (const member of members) {
      const startableAt = workloads.startableAt(member.name);
      if (startableAt === undefined || clock.now() < startableAt) continue;
      if (shouldRun(view.observation, member))
        results.add(await this.#start(member.record, view.established));
    }
    return {
      changed: results.has("started"),
      problems: [],
      ...(results.has("queued") && { lookAgainAt: clock.now() }),
    };
  }

  async #start(record: MemberRecord, established: boolean): Promise<Started> {
    const { workloads, volumes, binaries, configuration } = this.#options;
    // The start guard: etcd would begin anew in an empty directory, or worse, rejoin without memory (H3, I4).
    if (await volumes.hasLostData(record)) {
      await workloads.refuse(record, "data-missing", "its data directory is empty although it held data");
      return "started";
    }
    const binary = binaries.get(record.template.version);
    if (binary.state !== "ready") {
      const what = binary.state === "failed" ? binary.reason : `is being installed: ${binary.text}`;
      workloads.wait(record.name, `etcd ${record.template.version} ${what}`);
      return "left";
    }
    if (record.restore && !(await this.#isRestored(record, record.restore))) return "left";
    const runs = (name: string) => workloads.facts(name).state === "running";
    if (record.joined && (await this.#warming.inTheWayOf(record.name, runs)) !== undefined) return "queued";
    await configuration.write(record, established);
    try {
      await workloads.start(record, binary.etcd);
      if (record.joined) this.#warming.began(record.name, record.address.metricsURL);
    } catch (error) {
      if (!(error instanceof SpawnError)) throw error;
      await workloads.refuse(record, "unknown", error.message);
    }
    return "started";
  }

  /** A first member that starts from a snapshot: never without it, and never again over what is there (I4). */
  async #isRestored(record: MemberRecord, restore: RestoreRecipe): Promise<boolean> {
    const { workloads, volumes, restores, layout } = this.#options;
    const { name } = record;
    if (!(await volumes.isEmpty(name))) return true;
    const { dir: volume, data: dataDir } = layout.volume(name);
    const { encryption, pointInTime } = restore;
    const keyFile = pointInTime && encryption ? layout.encryptionKey(encryption.keySecret) : undefined;
    const key = keyFile === undefined ? {} : { keyFile };
    const state = restores.advance({ record, restore, volume, dataDir, ...key });
    if (state.state === "running") workloads.wait(name, state.text, { restoring: true });
    if (state.state === "failed")
      await workloads.refuse(record, "restore-failed", state.message, state.fault);
    return state.state === "done";
  }

  forget(member: string): void {
    this.#liveness.forget(member);
    this.#options.restores.forget(member);
  }
}
