/**
 * Faults under which the clients go on: members killed or stopped, links cut in both directions or one,
 * late or slow, a disk that writes slowly. One at a time, drawn from a seed, healed again.
 */
import type { SeededRandom } from "../../sim/engine/random.ts";
import { systemProcesses } from "../../src/seams/processes.ts";
import type { LocalCluster } from "../support/local-cluster.ts";
import type { Network } from "./network.ts";
import { pause } from "./recorder.ts";
import { slowDisk, type SlowedBy } from "./slow-disk.ts";

export const faultKinds = ["kill", "stop", "cut", "cut one way", "delay", "slow link", "slow disk"] as const;
export type FaultKind = (typeof faultKinds)[number];

export class Faults {
  readonly #local: LocalCluster;
  readonly #network: Network;
  readonly #note: (text: string) => void;
  /** How often each was made. */
  readonly made = new Map<FaultKind, number>();
  /** How disks were made slow. */
  readonly slowedBy = new Set<SlowedBy>();

  constructor(local: LocalCluster, network: Network, note: (text: string) => void) {
    this.#local = local;
    this.#network = network;
    this.#note = note;
  }

  /** Makes one fault and heals it after `ms`; a killed member is started again by its controller. */
  async make(kind: FaultKind, member: string, ms: number): Promise<void> {
    const heal = await this.begin(kind, member);
    await new Promise((resolve) => setTimeout(resolve, ms));
    heal();
  }

  async begin(kind: FaultKind, member: string): Promise<() => void> {
    this.#note(`${kind} ${member}`);
    this.made.set(kind, (this.made.get(kind) ?? 0) + 1);
    const heal = await this.#begin(kind, member);
    return () => {
      heal();
      this.#note(`${kind} ${member}: over`);
    };
  }

  async #begin(kind: FaultKind, member: string): Promise<() => void> {
    switch (kind) {
      case "kill":
        await this.#local.controller.platform.workloads.kill(member, "SIGKILL");
        return () => undefined;
      case "stop": {
        const child = this.#process(member);
        child?.signal("SIGSTOP");
        return () => void child?.signal("SIGCONT");
      }
      case "cut":
        return this.#network.isolate(member);
      case "cut one way":
        return this.#network.isolate(member, (this.made.get(kind) ?? 0) % 2 === 0 ? "in" : "out");
      case "delay":
        return this.#network.impose({ to: member, delayMs: 60 }, { from: member, delayMs: 60 });
      case "slow link":
        return this.#network.impose({ to: member, bytesPerSecond: 20_000 });
      case "slow disk": {
        const child = this.#process(member);
        if (child === undefined || !(await systemProcesses.isAlive(child))) return () => undefined;
        const { data } = this.#local.files.volume(member);
        const slowed = slowDisk(child.pid, data, (signal) => child.signal(signal));
        this.slowedBy.add(slowed.by);
        return slowed.end;
      }
    }
  }

  #process(member: string): LocalCluster["children"][number] | undefined {
    return this.#local.children.findLast((child) => child.member === member);
  }

  /** One fault after the other until the signal: some of every kind, with a rest in between. */
  async storm(random: SeededRandom, signal: AbortSignal): Promise<void> {
    let kinds: FaultKind[] = [];
    while (!signal.aborted) {
      if (kinds.length === 0) kinds = [...faultKinds];
      const kind = kinds.splice(random.between(0, kinds.length - 1), 1)[0] ?? "kill";
      const names = await this.#local.names();
      if (names.length > 0) await this.make(kind, random.pick(names), random.between(300, 2_500));
      await pause(random.between(800, 2_500), signal);
    }
  }
}
