import assert from "node:assert/strict";
import { test } from "node:test";
import type { PersistentVolumeClaim, Pod } from "kubernetes-types/core/v1.d.ts";
import type { EtcdMember } from "../../api/etcd-member.ts";
import { asked } from "../../core/testing/cluster.ts";
import { viewOf } from "../../core/view.ts";
import { writeSummary, type DirectorySummary } from "../../recovery/summary.ts";
import { adoptionInspections } from "../apply/adoption-pods.ts";
import { ANNOTATIONS, LABELS, RECOVERY_CONTAINERS } from "../names.ts";
import { marksOf, marksToAnnotations } from "../records/marks.ts";
import { adoptionFacts, adoptionReading, type AdoptionObjects } from "./adoption-facts.ts";

const NOW = Date.parse("2026-05-04T10:00:00Z");
const CLUSTER = "4a5d1c3e0f9b2d61";
const { cluster } = asked({ storage: { size: "10Gi", className: "fast", adopt: { clusterID: CLUSTER } } });
const CONTEXT = { image: "quorate", now: NOW };
const NONE: AdoptionObjects = { claims: [], pods: [], members: [] };

function claim(name: string, labels: Record<string, string> = {}, spec: object = {}): PersistentVolumeClaim {
  return {
    metadata: {
      name,
      namespace: "default",
      uid: `uid-${name}`,
      labels,
      annotations: { [ANNOTATIONS.token]: "former-1", [ANNOTATIONS.etcdVersion]: "3.6.14" },
    },
    spec: { storageClassName: "fast", resources: { requests: { storage: "10Gi" } }, ...spec },
  };
}

const ID = { [LABELS.clusterID]: CLUSTER, [LABELS.memberID]: "8e9e05c52164694d" };

function reader(of: string, found?: DirectorySummary, ageMs = 1_000): Pod {
  const controller = {
    apiVersion: "v1",
    kind: "EtcdCluster",
    name: "demo",
    uid: cluster.uid,
    controller: true,
  };
  const message = found && writeSummary(found);
  return {
    metadata: {
      name: `${of}-inspect`,
      creationTimestamp: new Date(NOW - ageMs).toISOString(),
      labels: { [LABELS.task]: "inspect" },
      annotations: { [ANNOTATIONS.reads]: adoptionReading({ uid: `uid-${of}` }) },
      ownerReferences: [controller],
    },
    spec: { containers: [], nodeName: "node-a" },
    status: {
      phase: message === undefined ? "Pending" : "Succeeded",
      ...(message !== undefined && {
        containerStatuses: [
          {
            name: RECOVERY_CONTAINERS.inspect,
            image: "",
            imageID: "",
            ready: false,
            restartCount: 0,
            state: { terminated: { exitCode: 0, message } },
          },
        ],
      }),
    },
  };
}

const facts = (objects: Partial<AdoptionObjects>, of = cluster) =>
  adoptionFacts(of, { ...NONE, ...objects }, CONTEXT);

test("claims that bear the name of a member are told with what is written on them, and others are not", () => {
  const found = facts({
    claims: [claim("data-demo-2", ID), claim("data-demo-1"), claim("data-other-1", ID)],
  });
  assert.deepEqual(
    found?.volumes.map(({ member, uid }) => [member, uid]),
    [
      ["demo-1", "uid-data-demo-1"],
      ["demo-2", "uid-data-demo-2"],
    ],
  );
  assert.deepEqual(found?.volumes[1]?.identity, {
    clusterID: CLUSTER,
    memberID: "8e9e05c52164694d",
    token: "former-1",
    version: "3.6.14",
  });
});

test("only what may be asked for is looked into; a Pod that cannot for long says so", () => {
  const foreign = claim("data-demo-1", { [LABELS.clusterID]: "1" });
  assert.equal(facts({ claims: [foreign] })?.volumes[0]?.directory, undefined);
  const mine = [claim("data-demo-1", ID)];
  const state = (...pods: Pod[]) => facts({ claims: mine, pods })?.volumes[0]?.directory?.state;
  assert.equal(state(), "reading");
  assert.equal(state(reader("data-demo-1")), "reading");
  assert.equal(state(reader("data-demo-1", undefined, 600_000)), "unreachable");
  assert.equal(state(reader("data-demo-1", { state: "empty" })), "empty");
});

test("addresses are those of every member that the data names, by either way to dial it", () => {
  const members = [{ id: "1", name: "demo-7", peerURL: "https://demo-7-peer.default.svc:2380" }];
  const data = {
    state: "data",
    clusterID: CLUSTER,
    memberID: "1",
    term: 1,
    index: 1,
    revision: 1,
    replay: 0,
  } as const;
  const pods = [reader("data-demo-1", { ...data, members })];
  const urls = facts({ claims: [claim("data-demo-1", ID)], pods })?.addresses.map(
    ({ address }) => address.peerURL,
  );
  assert.ok(urls?.includes("https://demo-7-peer.default.svc:2380"));
  assert.ok(urls?.includes("https://demo-7.demo-peers.default.svc:2380"));
});

test("size and class are told where the spec asks for others", () => {
  const spec = { storageClassName: "slow", resources: { requests: { storage: "20Gi" } } };
  const [same, other] =
    facts({ claims: [claim("data-demo-1", ID), claim("data-demo-2", ID, spec)] })?.volumes ?? [];
  assert.deepEqual(same?.storage, {});
  assert.deepEqual(other?.storage, { className: "slow", size: "20Gi" });
});

test("a Pod or a record of the former life is waited for, and no volume is read meanwhile", () => {
  const pod: Pod = { metadata: { name: "demo-1" } };
  const token = "former-1";
  const member = { metadata: { name: "demo-2" }, spec: { cluster: "demo", token } } as EtcdMember;
  const found = facts({ claims: [claim("data-demo-1", ID)], pods: [pod], members: [member] });
  assert.deepEqual(found?.remains, ["Pod demo-1", "EtcdMember demo-2"]);
  const inspections = (adoption: ReturnType<typeof facts>) => {
    assert.ok(adoption);
    const world = asked({ storage: cluster.spec.storage });
    const view = viewOf({ ...world, platform: { ...world.platform, adoption } });
    return adoptionInspections(view, { cluster, pods: [], now: NOW }, "quorate");
  };
  assert.equal(inspections(found).length, 0);
  const [one, none] = inspections(facts({ claims: [claim("data-demo-1", ID)] }));
  assert.equal(none, undefined);
  assert.ok(one?.policy.do === "create");
  const { spec } = one.policy.object as Pod;
  assert.equal(spec?.volumes?.[0]?.persistentVolumeClaim?.readOnly, true);
  assert.equal(spec?.containers[0]?.volumeMounts?.[0]?.readOnly, true);
});

test("a cluster that adopts nothing, or has done so, has no such facts", () => {
  assert.equal(facts({}, asked().cluster), undefined);
  const established = { token: `${cluster.uid}-1`, clusterID: CLUSTER };
  assert.equal(facts({}, { ...cluster, marks: { ...cluster.marks, established } }), undefined);
});

test("what is settled is a mark of the cluster, and is taken away at the end", () => {
  const adopting = {
    clusterID: CLUSTER,
    members: [{ name: "demo-1", memberID: "1", peerURL: "https://x", volumeUID: "u" }],
  };
  const annotations = marksToAnnotations({ adopting }) as Record<string, string>;
  assert.deepEqual(marksOf(cluster.uid, annotations, []).marks.adopting, adopting);
  assert.deepEqual(Object.values(marksToAnnotations({ adopting: undefined })), [null]);
  const [key = ""] = Object.keys(annotations);
  const { unreadable } = marksOf(cluster.uid, { [key]: '{"clusterID":"1"}' }, []);
  assert.deepEqual(unreadable[0]?.holds, ["join", "record", "heal"]);
});

test("directories of nodes are those that the spec names, read where they are, and none of another cluster's name", () => {
  const [uid, path] = ["0f4a91bb", "demo.5c7e0f7a/demo-1.0f4a91bb"];
  const storage = { medium: "HostPath", hostPath: "/data/" } as const;
  const onNodes = (directories: readonly { node: string; path: string }[]) =>
    asked({ storage: { ...storage, adopt: { clusterID: CLUSTER, directories: [...directories] } } });
  const world = onNodes([{ node: "node-a", path }]);
  const facts = adoptionFacts(world.cluster, { ...NONE, claims: [claim("data-demo-1", ID)] }, CONTEXT);
  assert.deepEqual(facts?.volumes, [
    {
      object: `directory ${path} on node-a`,
      member: "demo-1",
      uid,
      identity: {},
      storage: {},
      host: { node: "node-a", path: `default/${path}` },
      directory: { state: "reading", why: "the Pod that reads it is not there yet" },
    },
  ]);
  const platform = { ...world.platform, adoption: facts };
  const view = viewOf({ ...world, platform });
  const [wanted] = adoptionInspections(view, { pods: [], cluster: world.cluster, now: NOW }, "quorate");
  assert.ok(wanted?.policy.do === "create");
  const { spec } = wanted.policy.object as Pod;
  assert.equal(spec?.nodeName, "node-a");
  assert.deepEqual(spec.volumes?.[0]?.hostPath, { path: `/data/default/${path}`, type: "Directory" });
  const foreign = onNodes([{ node: "node-a", path: "other.5c7e0f7a/other-1.0f4a91bb" }]);
  const refused = adoptionFacts(foreign.cluster, NONE, CONTEXT);
  assert.deepEqual(refused?.volumes, []);
  assert.match(refused.refused ?? "", /other-1\.0f4a91bb on node-a is not the directory of a member of demo/);
});
