/**
 * Recovery from quorum loss on one machine: what the members' directories hold, and the snapshot that is made from the
 * data of one of them. The result is a file beside the snapshot, so that the next controller finds it.
 */
import path from "node:path";
import type { Action } from "../core/action.ts";
import type { MemberDirectory, OperationFacts, PlatformFacts, RescuedData } from "../core/observation.ts";
import { isFinished } from "../core/operations/status.ts";
import type { PlatformMember } from "../control/platform.ts";
import type { Clock } from "../seams/clock.ts";
import type { Disk } from "../seams/disk.ts";
import { FetchedSnapshots, type Fetcher } from "./fetched.ts";
import type { Layout } from "./layout.ts";

export type RescueRequest = Omit<
  Extract<Action, { kind: "RescueData" }>,
  "kind" | "operation" | "attempt"
> & {
  readonly dataDir: string;
  /** For the snapshot and for what is needed on the way. */
  readonly workDir: string;
};

/** As it is kept beside the snapshot. */
export interface RescuedFile extends Pick<RescuedData, "sha256" | "revision"> {
  readonly path: string;
}

/** How directories are read and rescued: from files, or in a model. */
export interface Rescuer {
  inspect(dataDir: string): Promise<MemberDirectory>;
  rescue(request: RescueRequest): Promise<RescuedFile>;
}

/** Reading a large log takes a moment, and nothing changes in it without quorum. */
const FRESH_MS = 10_000;
const RESULT = "result.json";

export class Recovery {
  readonly #layout: Layout;
  readonly #disk: Disk;
  readonly #clock: Clock;
  readonly #rescuer: Rescuer;
  readonly #fetched: FetchedSnapshots;
  readonly #known = new Map<string, { readonly at: number; readonly directory: MemberDirectory }>();

  constructor(
    layout: Layout,
    seams: { disk: Disk; clock: Clock; fetch: Fetcher },
    rescuer: Rescuer,
    onEvent: () => void,
  ) {
    this.#layout = layout;
    this.#disk = seams.disk;
    this.#clock = seams.clock;
    this.#rescuer = rescuer;
    this.#fetched = new FetchedSnapshots(layout, seams.disk, seams.fetch, onEvent);
  }

  /** Something was done: what was read before may not be so any more. */
  forget(): void {
    this.#known.clear();
  }

  async inspect(members: readonly PlatformMember[]): Promise<Record<string, MemberDirectory>> {
    const found: Record<string, MemberDirectory> = {};
    for (const { record, volume, workload } of members) {
      if (volume.state !== "ready" || volume.uid !== record.volumeUID) continue;
      const directory = await this.#directory(record.name);
      // What is being written may look torn: of a process that has not ended only what can be read whole counts.
      const isWriting = workload.state === "running" || workload.state === "stopping";
      if (directory.state === "data" || !isWriting) found[record.name] = directory;
      else this.#known.delete(record.name);
    }
    return found;
  }

  async #directory(member: string): Promise<MemberDirectory> {
    const now = this.#clock.monotonic();
    const known = this.#known.get(member);
    if (known && now - known.at < FRESH_MS) return known.directory;
    const directory = await this.#rescuer.inspect(this.#layout.volume(member).data);
    this.#known.set(member, { at: now, directory });
    return directory;
  }

  /** What is at hand for the operations that a person approved. */
  async facts(
    operations: readonly OperationFacts[],
  ): Promise<Pick<PlatformFacts, "rescued" | "fetched" | "fetch">> {
    const rescued = await this.rescued(operations);
    return { ...(rescued && { rescued }), ...(await this.#fetched.facts(operations)) };
  }

  /** Ends what runs in the background. */
  async close(): Promise<void> {
    await this.#fetched.close();
  }

  async execute(
    action: Extract<Action, { kind: "RescueData" | "FetchSnapshot" | "BindVolume" }>,
  ): Promise<void> {
    if (action.kind === "BindVolume") throw new TypeError("there are no PersistentVolumes on one machine");
    if (action.kind === "FetchSnapshot") await this.#fetched.begin(action);
    else await this.rescue(action);
  }

  async rescue(action: Extract<Action, { kind: "RescueData" }>): Promise<void> {
    const { kind: _kind, operation: _operation, attempt: _attempt, ...request } = action;
    const workDir = this.#layout.recovery(action.plan);
    const { data: dataDir } = this.#layout.volume(action.member);
    await this.#disk.makeDirectory(workDir);
    const rescued = await this.#rescuer.rescue({ ...request, dataDir, workDir });
    await this.#disk.write(path.join(workDir, RESULT), `${JSON.stringify(rescued)}\n`, { private: true });
  }

  /** For the operation that has its turn; the schema makes its plan a safe name of a directory. */
  async rescued(operations: readonly OperationFacts[]): Promise<RescuedData | undefined> {
    for (const operation of operations) {
      const { task } = operation;
      if (task.kind !== "recoverQuorum" || isFinished(operation) || !/^[0-9a-f]{16}$/.test(task.approve))
        continue;
      const text = await this.#disk.read(path.join(this.#layout.recovery(task.approve), RESULT));
      if (text === undefined) continue;
      const { path: file, sha256, revision } = JSON.parse(text) as RescuedFile;
      return { plan: task.approve, source: { file: { path: file } }, sha256, revision };
    }
    return undefined;
  }
}
