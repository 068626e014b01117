/**
 * How a start goes: what an etcd binary makes of its configuration, the directory it finds and the peers
 * that answer (R4–R8, R13, H1–H3, H5, H7). Pure looking, no effect: the caller carries the verdict out.
 */
import { minorNumber } from "../../../src/core/version/version.ts";
import { DataDir, hashAt } from "./data-dir.ts";
import { foundingEntries } from "./entry.ts";
import { clusterIdOf, memberIdOf } from "./ids.ts";
import type { Server } from "./server.ts";
import type { Member } from "./state.ts";

export type Verdict =
  | { readonly kind: "run"; readonly dir: DataDir; readonly introduced: readonly Member[] }
  /** `msg` and `error` are the words of etcd's last line. */
  | {
      readonly kind: "exit";
      readonly level: "fatal" | "panic" | "warn";
      readonly msg: string;
      readonly error: string;
    };

export interface Surroundings {
  readonly dir: DataDir | undefined;
  readonly diskFull: boolean;
  /** The process that serves peers at this URL and can be reached from here. */
  peerAt(url: string): Server | undefined;
}

function exit(level: "fatal" | "panic" | "warn", msg: string, error: string): Verdict {
  return { kind: "exit", level, msg, error };
}

const failedDiscovery = (error: string) => exit("fatal", "discovery failed", error);

export function boot(server: Server, around: Surroundings): Verdict {
  if (around.diskFull) {
    return exit("panic", "failed to write to the data directory", "no space left on device");
  }
  if (around.dir) return restart(server, around.dir, around);
  const self = server.config.initialCluster.find((peer) => peer.name === server.config.name);
  if (!self || !server.config.peerURLs.includes(self.peerURL)) {
    return failedDiscovery(
      `couldn't find local name "${server.config.name}" in the initial cluster configuration`,
    );
  }
  return server.config.state === "new" ? found(server, around) : join(server, around);
}

function found(server: Server, around: Surroundings): Verdict {
  const { config } = server;
  const members = config.initialCluster
    .map(({ name, peerURL }) => ({ id: memberIdOf([peerURL], config.token), name, peerURL }))
    .toSorted((a, b) => (BigInt(`0x${a.id}`) < BigInt(`0x${b.id}`) ? -1 : 1));
  const clusterID = clusterIdOf(members.map((member) => member.id));
  const self = members.find((member) => member.name === config.name)?.id ?? "";
  // R6: asks the first peer that answers, and stops only for a member that had published itself (H2).
  const reported = askPeers(server, around)?.knownMembers();
  if (reported?.some((member) => member.id === self && member.clientURLs.length > 0)) {
    return failedDiscovery(`member ${self} has already been bootstrapped`);
  }
  const dir = new DataDir(clusterID, self);
  for (const entry of foundingEntries(clusterID, members)) {
    dir.log.push(entry);
    dir.state.apply(entry, config);
  }
  return { kind: "run", dir, introduced: [] };
}

function join(server: Server, around: Surroundings): Verdict {
  const peer = askPeers(server, around);
  if (!peer) {
    return failedDiscovery(
      "cannot fetch cluster info from peer urls: could not retrieve cluster information from the given URLs",
    );
  }
  const existing = peer.knownMembers();
  const local = server.config.initialCluster;
  if (existing.length !== local.length) {
    return failedDiscovery("error validating peerURLs: member count is unequal");
  }
  const unmatched = existing.find(
    (member) => !local.some(({ peerURL }) => member.peerURLs.includes(peerURL)),
  );
  if (unmatched) {
    return failedDiscovery(
      `error validating peerURLs: unmatched member while checking PeerURLs (${unmatched.id}, ${unmatched.peerURLs.join(",")})`,
    );
  }
  const self = existing.find((member) => member.peerURLs.some((url) => server.config.peerURLs.includes(url)));
  if (!self) return failedDiscovery("error validating peerURLs: local member is not in the cluster");
  const { clusterVersion, downgrade } = peer.dir.state;
  // While a downgrade is enabled etcd lets only the older version in, and only as long as the cluster still speaks the
  // newer one: which then ends it. So nobody joins until the downgrade is done or cancelled.
  const fits =
    clusterVersion === undefined ||
    (downgrade === undefined
      ? speaks(server.minor, clusterVersion)
      : minorNumber(clusterVersion) === server.minor + 1);
  if (!fits) {
    return failedDiscovery("incompatible with current running cluster");
  }
  const introduced = existing.map((member) => ({ ...member }));
  return { kind: "run", dir: new DataDir(peer.dir.clusterID, self.id), introduced };
}

function restart(server: Server, dir: DataDir, around: Surroundings): Verdict {
  if (dir.unreadable) {
    return exit(
      "panic",
      "failed to open database",
      "invalid database: file size too small or page is corrupted",
    );
  }
  const { clusterVersion } = dir.state;
  // R13, H13: the older binary before the downgrade was prepared.
  if (server.minor >= 3006 && dir.storageVersion && minorNumber(dir.storageVersion) > server.minor) {
    return exit("fatal", "discovery failed", `version "${dir.storageVersion}.0" is not supported`);
  }
  if (clusterVersion !== undefined && minorNumber(clusterVersion) > server.minor) {
    return exit(
      "panic",
      "invalid downgrade; server version is lower than determined cluster version",
      `${server.version} < ${clusterVersion}`,
    );
  }
  // H5: two minors at once.
  if (clusterVersion !== undefined && !speaks(server.minor, clusterVersion)) {
    return exit("panic", "unmarshal should never fail", `data of ${clusterVersion}`);
  }
  const replayed = replay(server, dir);
  if (replayed) return replayed;
  // 3.5 asks nobody yet: it knows its peers only after it has replayed its log.
  if (server.minor >= 3006 && server.config.initialCorruptCheck && differsFromPeers(dir, around)) {
    return exit("fatal", "checkInitialHashKV failed", `${dir.memberID} found data inconsistency with peers`);
  }
  return { kind: "run", dir, introduced: [] };
}

/**
 * What no snapshot covers is applied again: the limit on learners is checked once more (H1), and 3.7 ends on
 * what 3.5 wrote for its members (H5).
 */
function replay(server: Server, dir: DataDir): Verdict | undefined {
  const learners = new Set<string>();
  for (const { index, op, legacy } of dir.log) {
    if (legacy && server.minor >= 3007 && index > dir.snapshotIndex) {
      return exit("panic", "unmarshal should never fail", "a request of the v2 store");
    }
    if (op.kind === "add" && op.isLearner) {
      // One that was refused when it was new is refused again, and nobody waits for it.
      if (dir.refused.has(index)) continue;
      learners.add(op.id);
      if (index > dir.snapshotIndex && learners.size > server.config.maxLearners) {
        return exit("panic", "failed to update; member unknown", "too many learner members in cluster");
      }
    } else if (op.kind === "promote" || op.kind === "remove") {
      learners.delete(op.id);
    }
  }
  return undefined;
}

/** R33: any peer that differs at a revision both can hash ends the start, whoever is at fault. */
function differsFromPeers(dir: DataDir, around: Surroundings): boolean {
  for (const member of dir.state.members.values()) {
    if (member.id === dir.memberID) continue;
    const peer = member.peerURLs.map((url) => around.peerAt(url)).find((at) => at?.runs);
    if (!peer || peer.dir.clusterID !== dir.clusterID || peer.dir.memberID !== member.id) continue;
    if (peer.dir.state.compactRevision !== dir.state.compactRevision) continue;
    const revision = dir.state.revision;
    if (peer.dir.state.revision < revision) continue;
    if (hashAt(peer.dir, revision) !== hashAt(dir, revision)) return true;
  }
  return false;
}

/** The first peer of the list that answers; etcd asks them in the order of their URLs. */
function askPeers(server: Server, around: Surroundings): Server | undefined {
  for (const url of otherURLs(server)) {
    const peer = around.peerAt(url);
    if (peer?.runs && peer.knownMembers().length > 0) return peer;
  }
  return undefined;
}

export function otherURLs(server: Server): string[] {
  return server.config.initialCluster
    .filter((peer) => peer.name !== server.config.name)
    .map((peer) => peer.peerURL)
    .toSorted();
}

/** A binary speaks its own minor and the one before. */
function speaks(minor: number, clusterVersion: string): boolean {
  const distance = minor - minorNumber(clusterVersion);
  return distance === 0 || distance === 1;
}
