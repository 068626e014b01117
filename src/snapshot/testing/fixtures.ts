/** For tests: snapshots with manifests, and a client of etcd that sends one. */
import { systemClock } from "../../seams/clock.ts";
import { systemRandom } from "../../seams/random.ts";
import { EtcdClient } from "../../etcd/client.ts";
import { FakeTransport } from "../../etcd/testing.ts";
import { RpcFailure } from "../../seams/etcd-transport.ts";
import type { Entry } from "../catalog.ts";
import { MANIFEST_FORMAT, type Manifest } from "../manifest.ts";
import { snapshotFile, type RevisionRecord } from "./database.ts";

export const never = new AbortController().signal;

/** About 300 kB, which is several blocks of a store's but quick to make. */
export function sampleFile(keys = 60): Buffer {
  const leaves = Array.from({ length: keys / 4 }, (_, leaf) =>
    Array.from({ length: 4 }, (_, i): RevisionRecord => ({
      main: 2 + leaf * 4 + i,
      sub: 0,
      key: `key/${leaf}/${i}`,
      value: `${leaf}-${i}-`.repeat(600),
    })),
  );
  return snapshotFile({ leaves, storageVersion: "3.6.0" });
}

/** Members m1 (leader) and m2, which send `file`, or fail where `fail` and `failHash` say so. */
export function clientSending(
  file: Uint8Array,
  fail: (endpoint: string) => number | undefined = () => undefined,
  failHash: () => RpcFailure | undefined = () => undefined,
) {
  const transport = new FakeTransport(
    ({ call, endpoint }) => {
      const header = { clusterId: 0xabcn, memberId: endpoint === "m1" ? 1n : 2n, revision: 9n, raftTerm: 2n };
      if (call === "Maintenance.Status")
        return { header, version: "3.6.16", leader: 1n, raftAppliedIndex: 50n, raftIndex: 50n, raftTerm: 2n };
      if (call === "Maintenance.HashKV") return failHash() ?? { header, hash: 77, compactRevision: -1n };
      if (call === "Cluster.MemberList")
        return {
          header,
          members: [
            { id: 1n, name: "m1" },
            { id: 2n, name: "m2" },
          ],
        };
      return new RpcFailure("UNIMPLEMENTED", call, "answered");
    },
    ({ endpoint }) => {
      const answers: (object | RpcFailure)[] = [];
      const end = fail(endpoint) ?? file.length;
      for (let at = 0; at < end; at += 32_768) {
        const blob = file.subarray(at, Math.min(end, at + 32_768));
        answers.push({
          blob,
          remainingBytes: BigInt(Math.max(0, file.length - 32 - at - blob.length)),
          version: "3.6.16",
        });
      }
      if (end < file.length) answers.push(new RpcFailure("UNAVAILABLE", "read ECONNRESET", "interrupted"));
      return answers;
    },
  );
  const endpoints = ["m1", "m2"].map((name) => ({ name, url: `http://${name}:2379` }));
  return new EtcdClient({ transport, clock: systemClock, endpoints });
}

export const surroundings = { clock: systemClock, random: systemRandom, signal: never };

export function manifestOf(fields: Partial<Manifest> = {}): Manifest {
  return {
    format: MANIFEST_FORMAT,
    object: "a.db",
    clusterId: "abc",
    member: { id: "2", endpoint: "http://m2:2379" },
    etcdVersion: "3.6.16",
    revision: 5,
    totalKeys: 3,
    totalEntries: 12,
    size: 100,
    sha256: "0".repeat(64),
    stored: { size: 100, sha256: "0".repeat(64) },
    compression: "none",
    startedAt: "2026-01-01T00:00:00.000Z",
    completedAt: "2026-01-01T00:00:01.000Z",
    ...fields,
  };
}

export function entryAt(at: Date, fields: Partial<Entry> = {}, clusterId = "abc"): Entry {
  return {
    name: `etcd-${clusterId}-${at.toISOString()}.db`,
    state: "complete",
    size: 100,
    at,
    manifest: manifestOf({ clusterId, startedAt: at.toISOString() }),
    ...fields,
  };
}
