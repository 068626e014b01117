/**
 * The controller of one directory: the lock, the platform and the loop over it, from start to a graceful
 * end. etcd processes are detached: they outlive a killed controller and are adopted by the next one.
 */
import { Loop, type Pass } from "../control/loop.ts";
import { Transcript, type TranscriptEntry } from "../control/transcript.ts";
import { viewOf } from "../core/view.ts";
import { InstalledBinaries, type Installer } from "./binaries.ts";
import type { ClientCredentials } from "./certificates.ts";
import type { Layout } from "./layout.ts";
import { Lock } from "./lock.ts";
import { LocalPlatform, type LocalSeams } from "./platform.ts";

export interface ControllerOptions {
  readonly layout: Layout;
  readonly seams: LocalSeams;
  readonly install: Installer;
  /** Versions that are there already. */
  readonly installed?: readonly { readonly version: string; readonly etcd: string }[];
  readonly onCredentials: (credentials: ClientCredentials) => void;
  /** Where verbs reach this controller. */
  readonly socket: string;
  readonly onPass?: (pass: Pass) => void;
  readonly onStep?: (entry: TranscriptEntry) => void;
  readonly onTrouble?: (error: unknown) => void;
}

export class Controller {
  readonly platform: LocalPlatform;
  readonly loop: Loop;
  readonly transcript = new Transcript();
  readonly #lock: Lock;
  readonly #options: ControllerOptions;

  private constructor(options: ControllerOptions, lock: Lock) {
    const { layout, seams, onCredentials } = options;
    this.#options = options;
    this.#lock = lock;
    const binaries = new InstalledBinaries(options.install, () => this.loop.wake());
    for (const { version, etcd } of options.installed ?? []) binaries.know(version, etcd);
    this.platform = new LocalPlatform({
      layout,
      seams,
      binaries,
      isFenced: () => lock.isLost(),
      onEvent: () => this.loop.wake(),
      onCredentials,
    });
    this.loop = new Loop({
      platform: this.platform,
      clock: seams.clock,
      onStep: (entry) => {
        this.transcript.add(entry);
        options.onStep?.(entry);
      },
      ...(options.onPass && { onPass: options.onPass }),
      ...(options.onTrouble && { onTrouble: options.onTrouble }),
    });
  }

  /** Takes the directory's lock and finds what runs there. */
  static async open(options: ControllerOptions): Promise<Controller> {
    const lock = await Lock.take(options.layout, options.seams, options.socket);
    const controller = new Controller(options, lock);
    try {
      await controller.platform.load();
    } catch (error) {
      await lock.release();
      throw error;
    }
    return controller;
  }

  /** Runs until the signal aborts or the cluster is deleted. */
  async run(signal: AbortSignal): Promise<"stopped" | "gone"> {
    return await this.loop.run(signal);
  }

  /** Stops the members, the leader last so that nobody holds elections on the way down, and lets go. */
  async close(options: { readonly stopMembers: boolean }): Promise<void> {
    if (options.stopMembers) {
      const { latest } = this.loop;
      const leader = latest && viewOf(latest.observation).leader?.name;
      const names = this.platform.workloads.names();
      await this.platform.workloads.stopAndWait(names.filter((name) => name !== leader));
      await this.platform.workloads.stopAndWait(names.filter((name) => name === leader));
    }
    const { restores, snapshots, recovery } = this.platform;
    await Promise.all([restores.close(), snapshots.close(), recovery.close()]);
    await this.platform.workloads.detach();
    await this.#options.seams.transport.close();
    await this.#lock.release();
  }
}
