/** The real side of the comparison of etcd: processes of one version on loopback, in a directory of their own. */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { Caller } from "../../src/etcd/caller.ts";
import { GrpcTransport } from "../../src/etcd/grpc/transport.ts";
import { snapshotRestore } from "../../src/etcd/etcdutl.ts";
import { runCommand } from "../../src/etcd/install/command.ts";
import type { TlsCredentials } from "../../src/etcd/types.ts";
import { EtcdProcess } from "../../src/etcd/process.ts";
import { systemClock } from "../../src/seams/clock.ts";
import { Bearer } from "../../sim/models/etcd/conformance/bearer.ts";
import { perform, type Call, type Outcome } from "../../sim/models/etcd/conformance/calls.ts";
import type { ProcessState, RestoreHow, Side, Slot, Start } from "../../sim/models/etcd/conformance/side.ts";
import { etcdOf, world } from "../support/etcd-cluster.ts";
import { freePorts } from "../support/free-ports.ts";

const NAMES = ["m1", "m2", "m3", "m4", "m5", "m6"];

type Credentials = (commonName: string) => TlsCredentials | undefined;

export class RealSide implements Side {
  readonly atOnce = true;
  readonly slots: readonly Slot[];
  readonly #dir = mkdtempSync(path.join(os.tmpdir(), "quorate-conformance-"));
  readonly #snapshot = path.join(this.#dir, "snapshot.db");
  readonly bearer: Bearer;
  readonly #caller: Caller;
  readonly #processes = new Map<string, EtcdProcess>();

  private constructor(slots: readonly Slot[], credentials: Credentials | undefined) {
    this.slots = slots;
    this.bearer = new Bearer(new GrpcTransport({ clock: systemClock }), (commonName) => {
      const transport = new GrpcTransport({ clock: systemClock });
      const shown = credentials?.(commonName);
      if (shown) transport.setCredentials(shown);
      return transport;
    });
    this.#caller = new Caller({ transport: this.bearer, clock: systemClock, endpoints: [] });
  }

  /** `credentials`: where clients come with TLS, by a common name. */
  static async prepare(credentials?: Credentials): Promise<RealSide> {
    const scheme = credentials ? "https" : "http";
    const slots: Slot[] = [];
    for (const name of NAMES) {
      const [client, peer] = await freePorts(2);
      slots.push({ name, clientUrl: `${scheme}://127.0.0.1:${client}`, peerUrl: `http://127.0.0.1:${peer}` });
    }
    return new RealSide(slots, credentials);
  }

  async clear(): Promise<void> {
    await Promise.all([...this.#processes.values()].map((running) => running.kill()));
    this.#processes.clear();
    for (const name of readdirSync(this.#dir))
      rmSync(path.join(this.#dir, name), { recursive: true, force: true });
  }

  async start(slot: Slot, { version, config }: Start): Promise<void> {
    const { etcd } = await etcdOf(version);
    const file = path.join(this.#dir, `${slot.name}.yaml`);
    writeFileSync(file, JSON.stringify(config));
    const started = await EtcdProcess.start(world, {
      binary: etcd,
      args: ["--config-file", file],
      env: { PATH: process.env["PATH"], HOME: this.#dir },
      cwd: this.#dir,
      log: path.join(this.#dir, `${slot.name}.log`),
    });
    this.#processes.set(slot.name, started);
  }

  async stop(slot: Slot, signal: "SIGTERM" | "SIGKILL"): Promise<void> {
    const running = this.#processes.get(slot.name);
    if (signal === "SIGTERM") await running?.stop();
    else await running?.kill();
    this.#processes.delete(slot.name);
  }

  process(slot: Slot): ProcessState {
    const found = this.#processes.get(slot.name);
    if (found === undefined) return "absent";
    return found.exit === undefined ? "runs" : `ended: ${found.exit.reason}`;
  }

  async lastWords(slot: Slot): Promise<string> {
    const lines = (await this.#processes.get(slot.name)?.tail(400)) ?? [];
    const panic = lines.findIndex((line) => line.startsWith("panic") || line.startsWith("fatal error"));
    if (panic >= 0) return lines.slice(panic, panic + 12).join("\n    ");
    // What it said before it came to rest, without what it repeats.
    const said = new Map<string, string>();
    for (const line of lines) said.set(/"msg":"([^"]*)"/.exec(line)?.[1] ?? line, line.slice(0, 400));
    return [...said.values()].slice(-12).join("\n    ");
  }

  wipe(slot: Slot): void {
    rmSync(path.join(this.#dir, slot.name), { recursive: true, force: true });
  }

  async save(slot: Slot, version: string): Promise<void> {
    rmSync(this.#snapshot, { force: true });
    const { etcdctl } = await etcdOf(version);
    const args = [`--endpoints=${slot.clientUrl}`, "snapshot", "save", this.#snapshot];
    const { code, stderr } = await runCommand(etcdctl, args, { env: { HOME: this.#dir } });
    if (code !== 0) throw new Error(`no snapshot of ${slot.name}: ${stderr}`);
  }

  async restore({ name, peerUrl }: Slot, { version, token, bump }: RestoreHow): Promise<void> {
    const { etcdutl: binary } = await etcdOf(version);
    if (binary === undefined) throw new Error(`etcd ${version} has no etcdutl`);
    await snapshotRestore(
      { binary, version, env: { HOME: this.#dir } },
      {
        snapshot: this.#snapshot,
        dataDir: path.join(this.#dir, name),
        name,
        peerUrls: [peerUrl],
        initialCluster: [`${name}=${peerUrl}`],
        token,
        bumpRevision: BigInt(bump),
      },
    );
  }

  call(slot: Slot, call: Call, timeoutMs: number): Promise<Outcome> {
    return perform(this.#caller, { url: slot.clientUrl }, call, timeoutMs);
  }

  async clusterVersion(slot: Slot): Promise<string | undefined> {
    const signal = AbortSignal.timeout(2_000);
    // To peers it tells so as well, and demands no certificate.
    const answer = await fetch(`${slot.peerUrl}/version`, { signal }).then(
      (response) => response.json() as Promise<{ etcdcluster?: string }>,
      () => undefined,
    );
    const found = /^(\d+\.\d+)\./.exec(answer?.etcdcluster ?? "")?.[1];
    return found;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.clear();
    await this.bearer.close();
    rmSync(this.#dir, { recursive: true, force: true });
  }
}
