import assert from "node:assert/strict";
import { test } from "node:test";
import type { PersistentVolume, PersistentVolumeClaim, Pod } from "kubernetes-types/core/v1.d.ts";
import { asked } from "../../core/testing/cluster.ts";
import { writeSummary } from "../../recovery/summary.ts";
import { ANNOTATIONS, LABELS, RECOVERY_CONTAINERS } from "../names.ts";
import { adoptionReading } from "../observe/adoption-facts.ts";
import { adoptionAsServed } from "./adoption-reads.ts";

const clusterID = "4a5d1c3e0f9b2d61";
const { cluster } = asked({ storage: { adopt: { clusterID } } });
const claim = (name: string): PersistentVolumeClaim => ({ metadata: { name, uid: `uid-${name}` } });

const volume = (name: string, of: string): PersistentVolume => ({
  metadata: {
    name,
    uid: `uid-${name}`,
    labels: { [LABELS.member]: "demo-2", [LABELS.clusterID]: clusterID },
  },
  spec: {
    persistentVolumeReclaimPolicy: "Retain",
    claimRef: { namespace: cluster.namespace, name: of, uid: "gone" },
  },
  status: { phase: "Released" },
});

/** What a Pod read on the volume of demo-1: three voters. */
function read(): Pod {
  const members = [1, 2, 3].map((n) => ({
    id: `${n}`,
    name: `demo-${n}`,
    peerURL: `https://demo-${n}:2380`,
  }));
  const data = { clusterID, memberID: "1", term: 1, index: 1, revision: 1, replay: 0, members };
  const message = writeSummary({ state: "data", ...data });
  const terminated = { exitCode: 0, message };
  const told = { image: "", imageID: "", ready: false, restartCount: 0, state: { terminated } };
  const owner = { apiVersion: "v1", kind: "EtcdCluster", name: "demo", uid: cluster.uid, controller: true };
  return {
    metadata: {
      name: "demo-1-inspect",
      creationTimestamp: new Date(0).toISOString(),
      labels: { [LABELS.task]: "inspect" },
      annotations: { [ANNOTATIONS.reads]: adoptionReading({ uid: "uid-data-demo-1" }) },
      ownerReferences: [owner],
    },
    spec: { containers: [], nodeName: "node-a" },
    status: { phase: "Succeeded", containerStatuses: [{ name: RECOVERY_CONTAINERS.inspect, ...told }] },
  };
}

test("claims that the data names and the cache lacks are asked for by name: found, not there, or not known", async () => {
  const askedFor: string[] = [];
  const live = {
    claim: async ({ name }: { name: string }) => {
      askedFor.push(name);
      return await Promise.resolve(name === "data-demo-2" ? { found: claim(name) } : { error: "no answer" });
    },
    volumes: () => Promise.resolve({ error: "persistentvolumes is forbidden", isDenied: true }),
  };
  const objects = { claims: [claim("data-demo-1")], pods: [read()], members: [] };
  const context = { image: "quorate", now: 1_000 };
  const facts = await adoptionAsServed(live, cluster, objects, context);
  assert.deepEqual(askedFor, ["data-demo-2", "data-demo-3"]);
  assert.deepEqual(
    facts?.volumes.map(({ member }) => member),
    ["demo-1", "demo-2"],
  );
  const object = "PersistentVolumeClaim data-demo-3";
  assert.deepEqual(facts?.absent, [{ member: "demo-3", object, unread: "no answer" }]);
  assert.deepEqual(facts?.unlisted, { why: "persistentvolumes is forbidden", isDenied: true });

  const none = {
    claim: () => Promise.resolve({ found: undefined }),
    volumes: () => Promise.resolve({ listed: [volume("pv-2", "data-demo-2")] }),
  };
  const gone = await adoptionAsServed(none, cluster, objects, context);
  assert.deepEqual(
    gone?.absent.map(({ member, unread }) => [member, unread]),
    [
      ["demo-2", undefined],
      ["demo-3", undefined],
    ],
  );
  assert.deepEqual(
    gone?.released?.map(({ name, member, refused }) => [name, member, refused]),
    [["pv-2", "demo-2", undefined]],
  );
});
