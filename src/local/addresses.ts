/**
 * Addresses on one machine. A cluster has a block of ports; a member takes a slot of three (clients, peers,
 * metrics) and keeps it for life. The next newcomers are offered the lowest slots that nobody has.
 */
import { ordinalOf, type MemberAddress, type MemberRecord } from "../core/record.ts";
import type { Ports } from "../seams/ports.ts";

export const HOST = "127.0.0.1";
const FIRST_BLOCK = 23_790;
const LAST_BLOCK = 32_690;
/** Below the range from which systems take the ports of outgoing connections. */
const BLOCK_SIZE = 100;
const PORTS_PER_SLOT = 3;
const SLOTS = Math.floor(BLOCK_SIZE / PORTS_PER_SLOT);
/** More newcomers than this never join at once. */
const OFFERS = 12;
/** A new block is taken when this many slots at its beginning are free. */
const SLOTS_WANTED_FREE = 5;

export interface TlsPlanes {
  readonly client: boolean;
  readonly peer: boolean;
}

export function addressAt(basePort: number, slot: number, tls: TlsPlanes): MemberAddress {
  const port = basePort + slot * PORTS_PER_SLOT;
  const clientURL = `${tls.client ? "https" : "http"}://${HOST}:${port}`;
  const peerURL = `${tls.peer ? "https" : "http"}://${HOST}:${port + 1}`;
  const metricsURL = `http://${HOST}:${port + 2}`;
  return {
    peerURL,
    clientURL,
    metricsURL,
    listenPeerURL: peerURL,
    listenClientURL: clientURL,
    listenMetricsURL: metricsURL,
  };
}

/** The slot of a peer URL of this cluster's block; undefined for every other URL. */
export function slotOf(basePort: number, peerURL: string): number | undefined {
  const url = URL.canParse(peerURL) ? new URL(peerURL) : undefined;
  if (url?.hostname !== HOST) return undefined;
  const offset = Number(url.port) - 1 - basePort;
  const slot = offset / PORTS_PER_SLOT;
  return Number.isInteger(slot) && slot >= 0 && slot < SLOTS ? slot : undefined;
}

export function portsOf(address: MemberAddress): number[] {
  return [address.listenClientURL, address.listenPeerURL, address.listenMetricsURL].map((url) =>
    Number(new URL(url).port),
  );
}

export interface OfferInput {
  readonly cluster: string;
  readonly basePort: number;
  readonly tls: TlsPlanes;
  readonly records: readonly MemberRecord[];
  /** The highest ordinal known to anybody. */
  readonly highestOrdinal: number;
}

export type Offer = { readonly ordinal: number; readonly address: MemberAddress };

/** Planned founders get what the plan says; the ordinals after the highest get the lowest free slots. */
export async function offers(
  input: OfferInput,
  isFree: (slot: number) => Promise<boolean>,
): Promise<Offer[]> {
  const { cluster, basePort, tls, records } = input;
  const taken = new Set(records.flatMap(({ address }) => slotOf(basePort, address.peerURL) ?? []));
  const planned = records
    .filter((record) => record.boot === "New")
    .flatMap((record) => record.initialCluster)
    .filter((peer) => !records.some((record) => record.name === peer.name))
    .flatMap((peer): Offer[] => {
      const [slot, ordinal] = [slotOf(basePort, peer.peerURL), ordinalOf(cluster, peer.name)];
      if (slot === undefined || ordinal === undefined) return [];
      taken.add(slot);
      return [{ ordinal, address: addressAt(basePort, slot, tls) }];
    });
  const next: Offer[] = [];
  const first = Math.max(input.highestOrdinal, ...planned.map(({ ordinal }) => ordinal)) + 1;
  for (let slot = 0; slot < SLOTS && next.length < OFFERS; slot++) {
    if (taken.has(slot) || !(await isFree(slot))) continue;
    next.push({ ordinal: first + next.length, address: addressAt(basePort, slot, tls) });
  }
  return [...planned, ...next];
}

export async function slotIsFree(ports: Ports, basePort: number, slot: number): Promise<boolean> {
  const first = basePort + slot * PORTS_PER_SLOT;
  const free = await Promise.all(
    Array.from({ length: PORTS_PER_SLOT }, (_, i) => ports.isFree(HOST, first + i)),
  );
  return free.every(Boolean);
}

/** A block that no other known cluster has and whose beginning is free, after `skip` others; undefined: none. */
export async function chooseBasePort(
  ports: Ports,
  takenBlocks: readonly number[],
  skip = 0,
): Promise<number | undefined> {
  let left = skip;
  for (let base = FIRST_BLOCK; base <= LAST_BLOCK; base += BLOCK_SIZE) {
    if (takenBlocks.includes(base)) continue;
    const free = await Promise.all(
      Array.from({ length: SLOTS_WANTED_FREE }, (_, slot) => slotIsFree(ports, base, slot)),
    );
    if (free.every(Boolean) && left-- <= 0) return base;
  }
  return undefined;
}
