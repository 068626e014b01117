import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { EtcdMember } from "../../api/etcd-member.ts";
import { API_VERSION } from "../../api/metadata.ts";
import { FIRST_MARKS, isEstablished, type ClusterMarks } from "../../core/record.ts";
import { healthy } from "../../core/testing/cluster.ts";
import { readCluster, type ReadCluster } from "./cluster-object.ts";
import { marksToAnnotations } from "./marks.ts";
import { newMember } from "./member-object.ts";
import { memberAddress, isOurPeerURL } from "../names.ts";

const world = healthy();
const { uid } = world.cluster;

function object(annotations: Record<string, string | null> = {}, metadata: object = {}): object {
  const present = Object.entries(annotations).filter(([, value]) => value !== null);
  return {
    apiVersion: API_VERSION,
    kind: "EtcdCluster",
    metadata: {
      name: "demo",
      namespace: "prod",
      uid,
      generation: 4,
      annotations: Object.fromEntries(present),
      ...metadata,
    },
    spec: { version: "3.6.16" },
    status: { phase: "whatever" },
  };
}

function membersWith(marks: ClusterMarks): EtcdMember[] {
  return world.members.map(({ record }) => newMember({ ...world.cluster, marks }, record));
}

function facts(read: ReadCluster) {
  assert.ok(read.ok, JSON.stringify(read));
  return read.facts;
}

function errors(read: ReadCluster): string[] {
  assert.ok(!read.ok);
  return read.errors.map(({ path, message }) => `${path} ${message}`);
}

describe("an EtcdCluster as facts", () => {
  test("has its defaults, and nothing of its status", () => {
    const { spec, ...rest } = facts(readCluster(object(), []));
    assert.equal(spec.replicas, 3);
    assert.deepEqual(rest, {
      name: "demo",
      namespace: "prod",
      uid,
      generation: 4,
      deleting: false,
      marks: FIRST_MARKS,
    });
  });

  test("says what a person approved, and that it is being deleted", () => {
    const approved = object(
      { "etcd.quorate.dev/approve": "abc" },
      { deletionTimestamp: "2026-01-01T00:00:00Z" },
    );
    const read = facts(readCluster(approved, []));
    assert.equal(read.approved, "abc");
    assert.equal(read.deleting, true);
  });

  test("that is not valid is refused with the field", () => {
    const read = readCluster({ ...object(), spec: { version: "3.6" } }, []);
    assert.match(errors(read)[0] ?? "", /^spec\.version /);
  });
});

describe("marks as annotations", () => {
  const all: ClusterMarks = {
    life: 3,
    highestOrdinal: 12,
    established: { token: `${uid}-3`, clusterID: "cdf818194e3a8c32" },
    batchJoined: true,
    replaced: { "demo-7": 1_750_000_000_000 },
    failedTarget: { hash: "abc", member: "demo-9", reason: "it does not start" },
  };

  test("come back as they were", () => {
    const annotations = marksToAnnotations(all);
    assert.ok(Object.keys(annotations).every((key) => key.startsWith("etcd.quorate.dev/")));
    assert.deepEqual(facts(readCluster(object(annotations), [])).marks, all);
  });

  test("a mark set to nothing is taken away", () => {
    assert.deepEqual(marksToAnnotations({ failedTarget: undefined }), {
      "etcd.quorate.dev/failed-target": null,
    });
  });

  test("one that cannot be read is an error that names it, never a guess", () => {
    const damaged = object({ ...marksToAnnotations(all), "etcd.quorate.dev/life": "two" });
    const [error = ""] = errors(readCluster(damaged, []));
    assert.match(
      error,
      /^metadata\.annotations\[etcd\.quorate\.dev\/life\] cannot be read \(.*\): restore its value/,
    );
  });

  test("one that cannot be read stops only what needs it, where the latch is known", () => {
    const damaged = (key: string) =>
      facts(readCluster(object({ ...marksToAnnotations(all), [`etcd.quorate.dev/${key}`]: "oops" }), []));
    const holds = (key: string) => damaged(key).unreadable?.map((mark) => mark.holds);
    assert.deepEqual(holds("replaced"), [[]]);
    assert.deepEqual(holds("failed-target"), [["roll"]]);
    assert.deepEqual(holds("highest-ordinal"), [["join", "record"]]);
    assert.equal(damaged("batch-joined").marks.batchJoined, true, "as if it had happened");
    const [mark] = damaged("replaced").unreadable ?? [];
    assert.equal(mark?.path, "metadata.annotations[etcd.quorate.dev/replaced]");
    assert.match(mark?.message ?? "", /cannot be read \(oops\)/);
    // With the life and the latch on its records, those of the cluster may be unreadable.
    const marks = marksToAnnotations({ ...world.cluster.marks });
    const lost = object({ ...marks, "etcd.quorate.dev/established": "oops" });
    const known = facts(readCluster(lost, membersWith(world.cluster.marks)));
    assert.deepEqual(known.marks.established, world.cluster.marks.established);
    assert.equal(known.unreadable?.length, 1);
  });

  test("a cluster that is being deleted needs none of them", () => {
    const marks = { ...marksToAnnotations(all), "etcd.quorate.dev/life": "two" };
    const deleted = object(marks, { deletionTimestamp: "2026-01-01T00:00:00Z" });
    assert.equal(facts(readCluster(deleted, [])).deleting, true);
  });

  test("I3: a cluster replaced without its annotations is still known to exist, by its records", () => {
    const marks = { ...world.cluster.marks, batchJoined: true };
    const read = facts(readCluster(object(), membersWith(marks)));
    assert.equal(isEstablished(uid, read.marks), true);
    assert.deepEqual(read.marks.established, marks.established);
    assert.equal(read.marks.batchJoined, true);
  });

  test("H11: the life is never counted back: the tokens of the records know it", () => {
    const later = membersWith(FIRST_MARKS).map((one) => ({
      ...one,
      spec: { ...one.spec, token: `${uid}-5`, joined: false },
    }));
    assert.equal(facts(readCluster(object(), later)).marks.life, 5);
  });

  test("I3: joined records without any latch stop everything, and the message says what to restore", () => {
    const [error = ""] = errors(readCluster(object(), membersWith(FIRST_MARKS)));
    assert.match(
      error,
      /established\] is missing, but demo-1 has joined: restore it as \{"token":"11111111-2222-1"/,
    );
  });
});

describe("addresses", () => {
  const cluster = { ...world.cluster, namespace: "prod" };

  test("follow the cluster's Service and its TLS", () => {
    assert.deepEqual(memberAddress(cluster, 4, "Pod"), {
      peerURL: "https://demo-4.demo-peers.prod.svc:2380",
      clientURL: "https://demo-4.demo-peers.prod.svc:2379",
      metricsURL: "http://demo-4.demo-peers.prod.svc:2381",
      listenPeerURL: "https://0.0.0.0:2380",
      listenClientURL: "https://0.0.0.0:2379",
      listenMetricsURL: "http://0.0.0.0:2381",
    });
  });

  test("name a member's own Service where peers dial it by that, and nothing else differs (H15)", () => {
    const { peerURL, ...rest } = memberAddress(cluster, 4, "Service");
    assert.equal(peerURL, "https://demo-4-peer.prod.svc:2380");
    const { peerURL: _, ...same } = memberAddress(cluster, 4, "Pod");
    assert.deepEqual(rest, same);
  });

  test("a peer URL is ours only under our Service, with a name that we give", () => {
    assert.equal(isOurPeerURL(cluster, "https://demo-4.demo-peers.prod.svc:2380"), true);
    assert.equal(isOurPeerURL(cluster, "http://demo-4.demo-peers.prod.svc:2380"), true);
    assert.equal(isOurPeerURL(cluster, "https://demo-4-peer.prod.svc:2380"), true);
    for (const url of [
      "https://demo-4.demo-peers.test.svc:2380",
      "https://demo-4.other-peers.prod.svc:2380",
      "https://demo-x.demo-peers.prod.svc:2380",
      "https://demo-4.demo-peers.prod.svc:2390",
      "https://demo-4-peer.test.svc:2380",
      "https://demo-4-peer.demo-peers.prod.svc:2380",
      "https://demo-4.prod.svc:2380",
      "https://demo-peer.prod.svc:2380",
      "https://other-4-peer.prod.svc:2380",
      "https://demo-4-peer.prod.svc:2390",
      "https://10.0.0.1:2380",
      "demo-4",
    ]) {
      assert.equal(isOurPeerURL(cluster, url), false, url);
    }
  });
});
