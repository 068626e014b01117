/**
 * Real etcd members on loopback for tests: any version, TLS or not, in a temporary directory. Plain on
 * purpose: it starts, stops, wipes and adds what a test says, and knows no rules.
 */
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { EtcdClient } from "../../src/etcd/client.ts";
import { isEtcdError } from "../../src/etcd/errors.ts";
import { GrpcTransport } from "../../src/etcd/grpc/transport.ts";
import type { TlsCredentials } from "../../src/etcd/types.ts";
import { ensureEtcd, type InstalledEtcd } from "../../src/etcd/install/ensure.ts";
import { EtcdProcess, type EtcdExit, type ProcessWorld } from "../../src/etcd/process.ts";
import { systemClock } from "../../src/seams/clock.ts";
import { systemDisk } from "../../src/seams/disk.ts";
import type { Endpoint } from "../../src/seams/etcd-transport.ts";
import { systemProcesses } from "../../src/seams/processes.ts";
import { eventually } from "../../testbed/eventually.ts";
import { makeTestPki, type TestPki } from "./etcd-pki.ts";
import { freePorts } from "./free-ports.ts";

export const world: ProcessWorld = { processes: systemProcesses, disk: systemDisk, clock: systemClock };

const installed = new Map<string, Promise<InstalledEtcd>>();

/** The programs of a version; installed once, by the product's own installer. */
export function etcdOf(version: string): Promise<InstalledEtcd> {
  const known = installed.get(version) ?? ensureEtcd(version, { env: process.env, clock: systemClock });
  installed.set(version, known);
  return known;
}

export interface ClusterOptions {
  readonly version: string;
  readonly members: number;
  /** Mutual TLS for clients and peers. */
  readonly tls?: boolean;
  /** Further flags of every member. */
  readonly args?: readonly string[];
}

export class TestMember {
  readonly name: string;
  readonly clientUrl: string;
  readonly peerUrl: string;
  readonly dataDir: string;
  readonly log: string;
  version: string;
  process: EtcdProcess | undefined;

  constructor(name: string, version: string, dir: string, clientUrl: string, peerUrl: string) {
    this.name = name;
    this.version = version;
    this.clientUrl = clientUrl;
    this.peerUrl = peerUrl;
    this.dataDir = path.join(dir, name);
    this.log = path.join(dir, `${name}.log`);
  }

  get endpoint(): Endpoint {
    return { name: this.name, url: this.clientUrl };
  }

  get running(): EtcdProcess {
    if (this.process === undefined) throw new Error(`${this.name} was never started`);
    return this.process;
  }
}

export interface StartOptions {
  /** Members named in `--initial-cluster`; default: all that this object knows. */
  readonly among?: readonly TestMember[];
  readonly state?: "new" | "existing";
  readonly args?: readonly string[];
}

export class TestCluster {
  readonly dir = mkdtempSync(path.join(os.tmpdir(), "quorate-etcd-"));
  readonly members: TestMember[] = [];
  readonly pki: TestPki | undefined;
  readonly #options: ClusterOptions;
  readonly #transports: GrpcTransport[] = [];

  private constructor(options: ClusterOptions, pki: TestPki | undefined) {
    this.#options = options;
    this.pki = pki;
  }

  /** All members started together and serving. */
  static async start(options: ClusterOptions): Promise<TestCluster> {
    const cluster = await TestCluster.prepare(options);
    try {
      for (let i = 0; i < options.members; i++) await cluster.prepareMember();
      await Promise.all(cluster.members.map((member) => cluster.launch(member, { state: "new" })));
      await Promise.all(cluster.members.map((member) => cluster.serving(member)));
    } catch (error) {
      await cluster[Symbol.asyncDispose]();
      throw error;
    }
    return cluster;
  }

  /** A cluster without members yet. */
  static async prepare(options: ClusterOptions): Promise<TestCluster> {
    await etcdOf(options.version);
    return new TestCluster(options, options.tls ? await makeTestPki() : undefined);
  }

  /** Ports, names and directories of one more member; nothing is started. */
  async prepareMember(version = this.#options.version): Promise<TestMember> {
    const scheme = this.pki === undefined ? "http" : "https";
    const [client, peer] = await freePorts(2);
    const name = `m${this.members.length + 1}`;
    const member = new TestMember(
      name,
      version,
      this.dir,
      `${scheme}://127.0.0.1:${client}`,
      `${scheme}://127.0.0.1:${peer}`,
    );
    this.members.push(member);
    return member;
  }

  /** Flags that start a member. */
  flags(member: TestMember, options: StartOptions = {}): string[] {
    const among = options.among ?? this.members;
    return [
      `--name=${member.name}`,
      `--data-dir=${member.dataDir}`,
      `--listen-client-urls=${member.clientUrl}`,
      `--advertise-client-urls=${member.clientUrl}`,
      `--listen-peer-urls=${member.peerUrl}`,
      `--initial-advertise-peer-urls=${member.peerUrl}`,
      `--initial-cluster=${among.map(({ name, peerUrl }) => `${name}=${peerUrl}`).join(",")}`,
      `--initial-cluster-state=${options.state ?? "existing"}`,
      `--initial-cluster-token=${path.basename(this.dir)}`,
      ...(this.pki === undefined ? [] : this.pki.flags(this.dir)),
      ...(this.#options.args ?? []),
      ...(options.args ?? []),
    ];
  }

  /** Starts a member's process and does not wait for it to serve. */
  async launch(member: TestMember, options: StartOptions = {}): Promise<EtcdProcess> {
    const { etcd } = await etcdOf(member.version);
    const args = this.flags(member, options);
    const env = { PATH: process.env["PATH"], HOME: this.dir };
    member.process = await EtcdProcess.start(world, {
      binary: etcd,
      args,
      env,
      cwd: this.dir,
      log: member.log,
    });
    return member.process;
  }

  /** Resolves when the member answers Status. */
  async serving(member: TestMember, timeoutMs = 60_000): Promise<void> {
    const client = this.client();
    const serves = async (signal: AbortSignal) => {
      await client.maintenance
        .status(member.endpoint, { timeoutMs: 1_000, signal })
        .catch((error: unknown) => {
          // With authentication on, being asked who we are is an answer too.
          if (!isEtcdError(error, "auth-user-required", "permission-denied")) throw error;
        });
      return true;
    };
    await member.running.ready(serves, { timeoutMs });
  }

  /** Starts a member again on the data it has, with only itself in the initial cluster. */
  async restart(member: TestMember, options: StartOptions = {}): Promise<void> {
    await this.launch(member, { among: [member], ...options });
    await this.serving(member);
  }

  wipe(member: TestMember): void {
    rmSync(member.dataDir, { recursive: true, force: true });
  }

  get endpoints(): readonly Endpoint[] {
    return this.members.map((member) => member.endpoint);
  }

  get tls(): TlsCredentials | undefined {
    return this.pki?.credentials;
  }

  /** A transport with this cluster's client certificate, closed with the cluster. */
  transport(): GrpcTransport {
    const transport = new GrpcTransport({
      clock: systemClock,
      ...(this.tls === undefined ? {} : { tls: this.tls }),
    });
    this.#transports.push(transport);
    return transport;
  }

  #shared: GrpcTransport | undefined;

  /** A client for all members (or those given), over one shared transport. */
  client(endpoints: readonly Endpoint[] = this.endpoints, timeoutMs = 5_000): EtcdClient {
    this.#shared ??= this.transport();
    return new EtcdClient({ transport: this.#shared, clock: systemClock, endpoints, timeoutMs });
  }

  /** Resolves when the cluster has settled on its version: from 3.6 on the data says which (R13). */
  async settled(member: TestMember): Promise<void> {
    if (member.version.startsWith("3.5")) return;
    const minor = member.version.split(".").slice(0, 2).join(".");
    await eventually("the storage version", async () => {
      const { storageVersion } = await this.client().maintenance.status(member.endpoint);
      return storageVersion?.startsWith(minor) === true;
    });
  }

  /** The member that leads now. */
  async leader(): Promise<TestMember> {
    const { url } = await this.client().maintenance.leader();
    const leader = this.members.find((member) => member.clientUrl === url);
    if (leader === undefined) throw new Error(`no member at ${url}`);
    return leader;
  }

  async followers(): Promise<TestMember[]> {
    const leader = await this.leader();
    return this.members.filter((member) => member !== leader);
  }

  /** Ends every process, closes every connection and removes the directory. */
  async [Symbol.asyncDispose](): Promise<void> {
    const ends: Promise<EtcdExit>[] = [];
    for (const { process: running } of this.members) if (running !== undefined) ends.push(running.kill());
    await Promise.all(ends);
    await Promise.all(this.#transports.map((transport) => transport.close()));
    rmSync(this.dir, { recursive: true, force: true });
  }
}
