/**
 * What a testbed is: its choices and addresses, written once when it is first brought up. Whether it runs is
 * not recorded here; that is looked up (processes.ts).
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { acquire } from "./lock.ts";
import { SERVICES } from "./nodes/addresses.ts";
import { bedPaths, bedsDir } from "./paths.ts";

export interface BedOptions {
  /** Real nodes. None: only the control plane (and the stand-in kubelet, if asked for). */
  nodes: number;
  /** "process": the stand-in kubelet runs Pods as processes of this machine. */
  kubelet: "none" | "process";
  /** How many nodes the stand-in presents, each in a zone of its own. */
  processNodes: number;
  /** "quick": a lost node is noticed after 8 s and its Pods are evicted 5 s later, instead of 40 s and 5 min. */
  detection: "quick" | "standard";
  /** For how many seconds the name server remembers that a name is unknown; 0: not at all. */
  dnsDenialSeconds: number;
  /** How kube-proxy on the nodes treats Services. */
  services: {
    /** Every call through a Service comes from the address of its node. */
    masquerade: boolean;
    /** The least time between two updates of a node's rules: so late a Service or a Pod may lead nowhere yet. */
    updatedEvery: string;
  };
  /** The ranges of the Services' addresses. Without real nodes, where no such address leads anywhere. */
  serviceRanges: string;
  /** A failing container is restarted at once, then after `first`, doubling up to `max`. */
  backoffMs: { first: number; max: number };
}

export interface Ports {
  etcd: number;
  etcdPeer: number;
  apiserver: number;
  controllerManager: number;
  scheduler: number;
  kubelet: number;
  kubeProxy: number;
  dns: number;
  registry: number;
}

export interface OwnBed {
  kind: "own";
  name: string;
  created: string;
  options: BedOptions;
  /** The testbed owns 127.<slot>.0.0/16. */
  slot: number;
  ports: Ports;
}

/** A cluster that the user has: recorded, never changed by `up` or `down`. */
export interface UsedBed {
  kind: "used";
  name: string;
  created: string;
  kubeconfig: string;
  context?: string;
}

export type Bed = OwnBed | UsedBed;

/** Corefiles of real clusters (testbed/README.md): without a cache, `ttl 5` and `ttl 30` with `cache 30`. */
export const DNS_DENIALS = [0, 5, 30] as const;

export const DEFAULT_OPTIONS: BedOptions = {
  nodes: 0,
  kubelet: "none",
  processNodes: 3,
  detection: "quick",
  dnsDenialSeconds: 5,
  services: { masquerade: false, updatedEvery: "100ms" },
  serviceRanges: SERVICES,
  backoffMs: { first: 1000, max: 10_000 },
};

const PORTS: Ports = {
  etcd: 2379,
  etcdPeer: 2380,
  apiserver: 6443,
  controllerManager: 10257,
  scheduler: 10259,
  kubelet: 10250,
  kubeProxy: 10256,
  dns: 8181,
  registry: 5000,
};

/** Where the control plane listens. */
export function controlAddress(slot: number): string {
  return `127.${slot}.0.1`;
}

/** Where Pods of the stand-in find names. */
export function dnsAddress(slot: number): string {
  return `127.${slot}.0.53`;
}

export function readBed(name: string): Bed | undefined {
  const path = bedPaths(name).state;
  if (!existsSync(path)) return undefined;
  return JSON.parse(readFileSync(path, "utf8")) as Bed;
}

export function listBeds(): string[] {
  if (!existsSync(bedsDir())) return [];
  return readdirSync(bedsDir()).filter((name) => !name.startsWith("."));
}

export function writeBed(bed: Bed): void {
  const path = bedPaths(bed.name).state;
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeFileSync(`${path}.new`, JSON.stringify(bed, null, 2) + "\n", { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

/** Out of sight by a rename, then deleted: a killed `down` leaves no half testbed that could be taken for a whole. */
export function removeBed(name: string): void {
  const { dir } = bedPaths(name);
  if (existsSync(dir)) renameSync(dir, join(bedsDir(), `.gone-${name}-${process.pid}-${Date.now()}`));
  for (const entry of existsSync(bedsDir()) ? readdirSync(bedsDir()) : []) {
    if (entry.startsWith(`.gone-${name}-`))
      rmSync(join(bedsDir(), entry), { recursive: true, force: true, maxRetries: 3 });
  }
}

/** Chooses addresses that nobody else has and records the new testbed. */
export async function createBed(name: string, options: BedOptions): Promise<OwnBed> {
  const lock = await acquire(join(bedsDir(), "slots"), {
    purpose: "choosing addresses",
    deadlineMs: 120_000,
  });
  try {
    const taken = new Set(
      listBeds().map((other) => {
        const bed = readBed(other);
        return bed?.kind === "own" ? bed.slot : 0;
      }),
    );
    const free = Array.from({ length: 186 }, (_, index) => 64 + index).filter((slot) => !taken.has(slot));
    // The usual ports if any address has them all; others where some process listens on every address.
    for (const usual of [true, false]) {
      for (const slot of free) {
        const ports = await freePorts(controlAddress(slot), usual);
        if (!ports) continue;
        const bed: OwnBed = { kind: "own", name, created: new Date().toISOString(), options, slot, ports };
        writeBed(bed);
        return bed;
      }
    }
    throw new Error(`no free addresses left for another testbed; end one of: ${listBeds().join(", ")}`);
  } finally {
    await lock.release();
  }
}

async function freePorts(address: string, usual: boolean): Promise<Ports | undefined> {
  const ports = { ...PORTS };
  for (const name of Object.keys(ports) as (keyof Ports)[]) {
    if (await canListen(address, ports[name])) continue;
    const other = usual ? undefined : await canListen(address, 0);
    if (!other) return undefined;
    ports[name] = other;
  }
  return ports;
}

function canListen(address: string, port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(undefined));
    server.listen(port, address, () => {
      const bound = server.address();
      server.close(() => resolve(typeof bound === "object" && bound ? bound.port : undefined));
    });
  });
}
