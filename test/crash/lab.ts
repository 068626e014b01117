/**
 * One cluster and a controller that dies: lets a controller of its own process be killed after effect n of
 * an operation, lets the next one go on, and tells what the cluster is like then.
 */
import { spawn } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { etcdClusterSpecSchema, type EtcdClusterSpecInput } from "../../src/api/etcd-cluster-spec.ts";
import type { EtcdOperationSpec } from "../../src/api/etcd-operation.ts";
import { PLANES, trustOf, withoutEffective } from "../../src/core/template/effective.ts";
import { templateHash } from "../../src/core/template/template.ts";
import type { View } from "../../src/core/view.ts";
import { EtcdClient } from "../../src/etcd/client.ts";
import { text } from "../../src/etcd/convert.ts";
import { GrpcTransport } from "../../src/etcd/grpc/transport.ts";
import { slotIsFree } from "../../src/local/addresses.ts";
import { Certificates } from "../../src/local/certificates.ts";
import { layout } from "../../src/local/layout.ts";
import { OperationStore } from "../../src/local/operation-store.ts";
import { Store } from "../../src/local/store.ts";
import { createPki } from "../../src/pki/issue.ts";
import { systemClock } from "../../src/seams/clock.ts";
import { systemDisk } from "../../src/seams/disk.ts";
import { systemPorts } from "../../src/seams/ports.ts";
import { systemProcesses } from "../../src/seams/processes.ts";
import { systemRandom } from "../../src/seams/random.ts";
import { etcdOf } from "../support/etcd-cluster.ts";
import { CLUSTER, openController, storeSeams, type ChildRequest } from "./controller.ts";

const CONVERGE_MS = 120_000;
const CHILD = fileURLToPath(new URL("controller-child.ts", import.meta.url));

export interface CrashedRun {
  readonly effects: readonly string[];
  /** False: it came to the end of the operation before effect n. */
  readonly crashed: boolean;
}

/** What must be the same however often the controller died on the way. Names count from the highest before. */
export interface EndState {
  readonly members: readonly string[];
  readonly unrecorded: number;
  /** How many of etcd's member IDs are still those from before. */
  readonly keptIDs: number;
  readonly sameCluster: boolean;
  /** Members that do not have exactly one process, or none when asleep. */
  readonly processes: readonly string[];
  readonly files: readonly string[];
  /** How those that were asked for ended. */
  readonly operations: readonly string[];
  /** Keys that were written before and cannot be read; undefined while nobody serves. */
  readonly lost?: readonly string[];
}

export class CrashLab {
  readonly dir = path.join(mkdtempSync(path.join(os.tmpdir(), "quorate-crash-")), CLUSTER);
  readonly files = layout(this.dir);
  readonly store = new Store(this.files, storeSeams);
  readonly #spec: ChildRequest["spec"];
  readonly #basePort: number;
  readonly #transport = new GrpcTransport({ clock: systemClock });
  #written = 0;

  private constructor(spec: EtcdClusterSpecInput, basePort: number) {
    this.#spec = etcdClusterSpecSchema.parse(spec);
    this.#basePort = basePort;
  }

  static async open(spec: EtcdClusterSpecInput): Promise<CrashLab> {
    await etcdOf(spec.version);
    return new CrashLab(spec, await freeBlock());
  }

  async edit(change: Partial<EtcdClusterSpecInput>): Promise<void> {
    const stored = await this.store.cluster();
    if (stored === undefined) throw new Error("there is no cluster to edit");
    // How often members were replaced within the hour is not what is tried here.
    const marks = { ...stored.marks, replaced: {} };
    await this.store.updateCluster({
      spec: etcdClusterSpecSchema.parse({ ...stored.spec, ...change }),
      marks,
    });
  }

  /** Asks for a task; what is left of the one before goes first. */
  async operate(task: Omit<EtcdOperationSpec, "cluster">): Promise<void> {
    const store = new OperationStore(this.files, storeSeams);
    for (const { metadata } of (await store.list()).operations) await store.remove(metadata.name);
    await store.create("task", { cluster: CLUSTER, ...task });
  }

  async #operations(): Promise<string[]> {
    const { operations } = await new OperationStore(this.files, storeSeams).list();
    return operations.map(({ metadata, status }) => `${metadata.name} ${status?.phase} ${status?.reason}`);
  }

  /** A controller of its own process, killed after effect n; with 0 it ends by itself. */
  async crashAfter(n: number): Promise<CrashedRun> {
    const request: ChildRequest = {
      dir: this.dir,
      spec: this.#spec,
      basePort: this.#basePort,
      crashAfter: n,
      timeoutMs: CONVERGE_MS,
    };
    const log = path.join(path.dirname(this.dir), "effects");
    const output = openSync(log, "w");
    const child = spawn(process.execPath, [CHILD, JSON.stringify(request)], {
      stdio: ["ignore", output, "pipe"],
    });
    closeSync(output);
    let complaint = "";
    child.stderr?.on("data", (chunk) => (complaint += String(chunk)));
    const [code, signal] = await new Promise<[number | null, string | null]>((resolve) => {
      child.on("close", (...end) => resolve(end));
    });
    const effects = readFileSync(log, "utf8").split("\n").slice(0, -1);
    if (signal === null && code !== 0) throw new Error(`the controller ended with ${code}: ${complaint}`);
    if (signal !== null && effects.length !== n)
      throw new Error(`ended by ${signal} after ${effects.length} effects`);
    return { effects, crashed: signal !== null };
  }

  /** Another controller goes on, in this process, until nothing is left to do. */
  async converge(): Promise<View> {
    const request = { spec: this.#spec, basePort: this.#basePort };
    const next = await openController(this.files, request);
    try {
      return await next.converge(CONVERGE_MS);
    } finally {
      await next.close();
    }
  }

  /** Writes one more key, which must be there ever after. */
  async write(): Promise<void> {
    const client = await this.#client();
    const key = `written/${String(++this.#written).padStart(6, "0")}`;
    await client.kv.put(key, String(this.#written));
  }

  async state(view: View, before: View | undefined): Promise<EndState> {
    const highest = (before?.nextOrdinal ?? 1) - 1;
    const label = (name: string) => {
      const ordinal = Number(name.slice(CLUSTER.length + 1));
      return ordinal > highest ? `new+${ordinal - highest}` : "old";
    };
    const ids = new Set(before?.observation.etcd.list?.members.map(({ id }) => id));
    const { list } = view.observation.etcd;
    const records = view.members.map(({ record }) => record);
    const kept = records.filter(({ memberID }) => memberID !== undefined && ids.has(memberID));
    return {
      members: view.members.map(({ name, record, isVoter, healthy, workload }) =>
        [
          label(name),
          isVoter ? "voter" : "no voter",
          healthy ? "healthy" : workload.state,
          record.joined ? "joined" : "not joined",
          record.leaving ? "leaving" : "staying",
          record.template.version,
          templateHash(withoutEffective(record.template)),
          // Which CAs a rotation makes is random; how many are trusted in the end is not.
          ...PLANES.map((plane) => `${plane} ${trustOf(record.template, plane)?.length ?? 1}`),
        ].join(" "),
      ),
      unrecorded: view.unrecorded.length,
      keptIDs: kept.length,
      sameCluster:
        before === undefined ||
        before.observation.cluster.marks.established?.clusterID ===
          view.observation.cluster.marks.established?.clusterID,
      processes: await this.#wrongProcesses(view),
      files: this.#list(label),
      operations: await this.#operations(),
      ...(list?.linearizable && { lost: await this.#lost() }),
    };
  }

  /** Everything but etcd's own data and the logs, which only ever grow. */
  #list(label: (name: string) => string): string[] {
    return readdirSync(this.dir, { recursive: true, encoding: "utf8" })
      .filter((entry) => !/^(volumes\/[^/]+\/data\/|logs\/)/.test(entry))
      .map((entry) => entry.replaceAll(new RegExp(`${CLUSTER}-\\d+`, "g"), label))
      .toSorted((a, b) => (a < b ? -1 : 1));
  }

  async #wrongProcesses(view: View): Promise<string[]> {
    const found = await Promise.all(
      view.members.map(async ({ name, record }) => {
        const running = await systemProcesses.find(`--config-file=${this.files.configOf(name)}`);
        return running.length === (record.run ? 1 : 0) ? [] : [`${name} has ${running.length}`];
      }),
    );
    return found.flat();
  }

  async #lost(): Promise<string[]> {
    const { kvs } = await (await this.#client()).kv.range("written/", { rangeEnd: "written0" });
    const there = new Set(kvs.map(({ key }) => Number(text(key).slice("written/".length))));
    return Array.from({ length: this.#written }, (_, i) => i + 1)
      .filter((number) => !there.has(number))
      .map(String);
  }

  async #client(): Promise<EtcdClient> {
    const pki = createPki(systemClock, systemRandom);
    const credentials = await new Certificates(
      this.files,
      systemDisk,
      systemClock,
      pki,
    ).controllerCredentials();
    if (credentials) this.#transport.setCredentials(credentials);
    const endpoints = (await this.store.members()).map(({ record }) => ({
      name: record.name,
      url: record.address.clientURL,
    }));
    return new EtcdClient({ transport: this.#transport, clock: systemClock, endpoints, timeoutMs: 10_000 });
  }

  /** Ends a member's process and empties its data directory, as a lost disk would. */
  async wipe(name: string): Promise<void> {
    await this.#kill(name);
    const { data } = this.files.volume(name);
    rmSync(data, { recursive: true, force: true });
    await systemDisk.makeDirectory(data);
  }

  async #kill(name: string): Promise<void> {
    for (const identity of await systemProcesses.find(`--config-file=${this.files.configOf(name)}`)) {
      const running = await systemProcesses.adopt(identity);
      if (running === undefined) continue;
      running.signal("SIGKILL");
      // A timer keeps us awake: a process that is not our child does not.
      const awake = setInterval(() => undefined, 1_000);
      await running.exit;
      clearInterval(awake);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Every member ever started has a log.
    const logs = await systemDisk.list(this.files.logs);
    const names = logs.map((file) => file.replace(/\.log(\.1)?$/, ""));
    for (const name of new Set(names)) await this.#kill(name);
    await this.#transport.close();
    rmSync(path.dirname(this.dir), { recursive: true, force: true });
  }
}

/** Ports of our own, away from those that the product gives out: a sleeping cluster holds none of its own. */
async function freeBlock(): Promise<number> {
  for (let tries = 0; tries < 100; tries++) {
    const block = 10_000 + 100 * Math.floor(Math.random() * 120);
    const free = await Promise.all([0, 1, 2, 3, 4, 5].map((slot) => slotIsFree(systemPorts, block, slot)));
    if (free.every(Boolean)) return block;
  }
  throw new Error("no free ports between 10000 and 22000");
}
