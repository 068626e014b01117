/** What a cluster owns, as one list: an object that is added or dropped shows here. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { specOf } from "../../core/testing/cluster.ts";
import { viewOf, type View } from "../../core/view.ts";
import type { KubeObject } from "../../kube/resources.ts";
import type { PersistentVolumeClaim } from "kubernetes-types/core/v1.d.ts";
import type { Certificate } from "../cert-manager.ts";
import { ANNOTATIONS, claimName, LABELS } from "../names.ts";
import { sizeNote } from "../records/last-understood.ts";
import { newMember } from "../records/member-object.ts";
import { disruptionBudget } from "../render/budget.ts";
import { memberClaim } from "../render/claim.ts";
import { ownedByCluster, ownedByMember } from "../render/metadata.ts";
import { volumeIdentity } from "../render/volume-identity.ts";
import { snapshotNamed } from "../../core/testing/snapshots.ts";
import { networkPolicy } from "../render/network-policy.ts";
import { memberSecret, tokenSecret } from "../render/secret.ts";
import { clusterServices, peerService } from "../render/services.ts";
import { clusterWith, memberOf, type Wish } from "../testing/rendered.ts";
import type { Cached } from "./cached.ts";
import { wantedObjects } from "./wanted.ts";

const viewWith = (wish: Wish = {}) => clusterWith(specOf({ learners: 1, ...wish }));

/** Caches that hold the cluster itself and nothing else, unless said. */
function wanted(view: View, held: Partial<Cached> = {}) {
  const { name, namespace, uid, generation } = view.observation.cluster;
  const annotations = { [ANNOTATIONS.size]: sizeNote(view.spec) };
  const cluster = { metadata: { name, namespace, uid, generation, annotations }, spec: view.spec };
  const nothing = {
    secrets: [],
    certificates: [],
    services: [],
    budgets: [],
    networkPolicies: [],
    unseen: [],
  };
  return wantedObjects(view, {
    cluster,
    member: () => undefined,
    claim: () => undefined,
    pod: () => undefined,
    hasCertManager: true,
    clusterDomain: undefined,
    operatorPods: { namespace: "quorate-system", labels: { app: "quorate" } },
    ...nothing,
    ...held,
  });
}

/** Without those of other members than the first: they differ only in the name. */
const listed = (view: View, held: Partial<Cached> = {}) =>
  wanted(view, held)
    .map(({ part, policy }) => `${policy.do}: ${part}`)
    .filter((line) => !/demo-[234]/.test(line));

test("the keys of auth tokens come before the members that sign with them, and are kept until the last is gone", () => {
  const part = "issue: Secret demo-auth-token";
  const lines = listed(viewWith({ auth: { enabled: false, token: { type: "JWT" } } }));
  assert.ok(lines.indexOf(part) >= 0 && lines.indexOf(part) < lines.indexOf("issue: the Secret of demo-1"));
  assert.ok(!listed(viewWith()).includes(part));
  const view = viewWith();
  const { cluster } = view.observation;
  const left = tokenSecret(cluster, { "auth-token-1.key": "left over" });
  assert.ok(listed(view, { secrets: [left] }).includes(part), "what nobody needs any more is removed");
  assert.ok(!listed(view, { secrets: [tokenSecret(cluster, {})] }).includes(part));
});

test("every object of a cluster, with what is done about it", () => {
  assert.deepEqual(listed(viewWith()), [
    "issue: the client CA",
    "issue: the peer CA",
    "issue: the Secret of demo-1",
    "issue: Secret demo-operator",
    "issue: Secret demo-client-tls",
    "apply: Service demo-peers",
    "apply: Service demo-client",
    "apply: Service demo",
    "apply: Service demo-learners",
    "apply: PodDisruptionBudget demo",
    "apply: Service demo-1-peer",
    "run: the Pod of demo-1",
  ]);
});

test("certificates of the user's own are taken from where the spec says, and none is made for clients", () => {
  const client = { mode: "Secrets", secrets: { server: "a", operator: "b" } } as const;
  assert.deepEqual(listed(viewWith({ tls: { client } })).slice(0, 5), [
    "take: the given client certificates",
    "issue: the peer CA",
    "issue: the Secret of demo-1",
    "issue: Secret demo-operator",
    "apply: Service demo-peers",
  ]);
});

test("cert-manager is asked for a certificate of each member and plane, and its Secrets are given an owner", () => {
  const issuer = { name: "a" };
  const tls = {
    mode: "CertManager",
    client: { certManager: { server: issuer, operator: { ...issuer, kind: "ClusterIssuer" } } },
    peer: { certManager: { member: issuer } },
  } as const;
  const view = viewWith({ tls });
  assert.deepEqual(listed(view).slice(0, 9), [
    "apply: Certificate demo-1-server-issued",
    "apply: Certificate demo-1-gateway-issued",
    "apply: Certificate demo-operator-issued",
    "apply: Certificate demo-client-issued",
    "apply: Certificate demo-1-peer-issued",
    "take: the given client certificates",
    "take: the given peer certificates",
    "issue: the Secret of demo-1",
    "issue: Secret demo-operator",
  ]);
  assert.ok(!listed(view, { hasCertManager: false }).some((line) => line.includes("Certificate ")));
  const name = "demo-operator-issued";
  const written = (by: string) => ({
    metadata: { name, namespace: "default", annotations: { "cert-manager.io/certificate-name": by } },
  });
  const adopted = (by: string) =>
    wanted(view, { secrets: [written(by)] }).find(({ part }) => part.includes("owner of"));
  assert.deepEqual(adopted(name)?.policy, {
    do: "patch",
    known: written(name),
    fields: {
      metadata: {
        ownerReferences: [{ ...ownedByCluster(view.observation.cluster), controller: false }],
      },
    },
    exact: true,
  });
  assert.equal(adopted("another"), undefined, "what somebody else wrote stays theirs");
});

test("of cert-manager's certificates, no server's is a client's and a gateway's has no common name", () => {
  const tls = {
    client: {
      mode: "CertManager",
      certManager: { server: { name: "servers" }, operator: { name: "clients" } },
    },
  } as const;
  const issued = (renderVersion: number, version = "3.6.16") => {
    const view = viewWith({ tls, version });
    const members = view.members.map((member) => {
      const { record } = member;
      return { ...member, record: { ...record, template: { ...record.template, renderVersion } } };
    });
    return (name: string) => {
      const found = wanted({ ...view, members }).find(({ part }) => part === `Certificate ${name}`);
      return found?.policy.do === "apply" ? (found.policy.object as Certificate).spec : undefined;
    };
  };
  const now = issued(3);
  assert.deepEqual(now("demo-1-server-issued")?.usages, ["digital signature", "server auth"]);
  const { commonName, usages, dnsNames, issuerRef } = now("demo-1-gateway-issued") ?? {};
  assert.deepEqual([commonName, usages], [undefined, ["digital signature", "client auth"]]);
  assert.deepEqual([dnsNames, issuerRef?.name], [["demo-1-gateway.default.svc"], "clients"]);
  const before = issued(2);
  assert.deepEqual(
    before("demo-1-server-issued")?.usages,
    ["digital signature", "server auth", "client auth"],
    "a member that an earlier release started dials itself with it",
  );
  assert.ok(before("demo-1-gateway-issued"), "it is there before the member is started with it");
  assert.equal(issued(3, "3.4.45")("demo-1-gateway-issued"), undefined);
});

test("the process that takes snapshots has a certificate once there are any", () => {
  const view = viewWith();
  const observation = { ...view.observation, snapshots: { snapshots: [snapshotNamed("once")] } };
  const added = listed({ ...view, observation }).filter((line) => !listed(view).includes(line));
  assert.deepEqual(added, ["issue: Secret demo-snapshot-tls"]);
});

test("Pods come after everything else, and the leaves of clients need their authority", () => {
  const list = wanted(viewWith());
  assert.equal(new Set(list.map(({ part }) => part)).size, list.length, "each has a name of its own");
  const others = list.filter(({ policy }) => policy.do !== "run").map(({ part }) => part);
  for (const { policy, after, needs, part } of list) {
    if (policy.do === "run") assert.deepEqual(after, others);
    if (part.endsWith("-tls")) assert.deepEqual(needs, ["the client CA"]);
  }
});

test("what the spec does not ask for any more is deleted if it is ours, and only after clients were let in", () => {
  const before = viewWith();
  const after = viewWith({ learners: 0, disruptionBudget: { enabled: false } });
  const budget = disruptionBudget(before);
  const held = { services: clusterServices(before), budgets: budget ? [budget] : [] };
  const deletions = (view: View, caches: Partial<Cached>) =>
    listed(view, caches).filter((line) => line.startsWith("delete"));
  assert.deepEqual(deletions(before, held), []);
  assert.deepEqual(deletions(after, held), [
    "delete: Service demo-learners",
    "delete: PodDisruptionBudget demo",
  ]);
  const foreign = held.services.map((one) => ({
    ...one,
    metadata: { ...one.metadata, ownerReferences: [] },
  }));
  assert.deepEqual(deletions(after, { services: foreign }), []);
  const closed = { ...after, open: false };
  assert.deepEqual(deletions(closed, held), []);
});

test("a NetworkPolicy is applied while the spec asks for it, and never by an operator that it would cut off", () => {
  const [off, on] = [viewWith(), viewWith({ networkPolicy: { enabled: true, clients: [] } })];
  const policy = networkPolicy(on, { namespace: "quorate-system", labels: { app: "quorate" } });
  const networkPolicies = policy ? [policy] : [];
  const about = (view: View, held: Partial<Cached>) =>
    listed(view, held).filter((line) => line.includes("NetworkPolicy"));
  assert.deepEqual(about(off, {}), []);
  assert.deepEqual(about(on, {}), ["apply: NetworkPolicy demo"]);
  assert.deepEqual(about(off, { networkPolicies }), ["delete: NetworkPolicy demo"]);
  assert.deepEqual(about(on, { operatorPods: undefined, networkPolicies }), ["refuse: NetworkPolicy demo"]);
  assert.deepEqual(about(off, { operatorPods: undefined, networkPolicies }), ["delete: NetworkPolicy demo"]);
});

test("with a spec that cannot be understood, Services and budget stay as they are", () => {
  const { observation } = viewWith();
  const view = viewOf({ ...observation, cluster: { ...observation.cluster, invalid: "spec.version" } });
  const held = { services: clusterServices(viewWith()) };
  assert.deepEqual(
    listed(view, held).filter((line) => /Service demo(-peers|-client|-learners)?$|Budget/.test(line)),
    [],
  );
});

test("a member's Service whose record no cache holds is deleted only after the API server was asked", () => {
  const view = viewWith();
  const services = ["demo-3", "demo-7"].map((member) => peerService(view.observation.cluster, member));
  const [deleted, ...more] = wanted(view, { services }).filter(({ policy }) => policy.do === "delete");
  assert.deepEqual(more, []);
  assert.equal(deleted?.part, "Service demo-7-peer");
  assert.ok(deleted.policy.do === "delete" && deleted.policy.unlessRecorded === "demo-7");
});

test("claims are created once; of one that exists, lost labels and a larger size are patched", () => {
  const view = viewWith({ storage: { medium: "Persistent", size: "8Gi" } });
  const [first] = view.observation.members;
  assert.ok(first);
  const { volumeUID: _, ...unstarted } = first.record;
  const fresh = viewOf({ ...view.observation, members: [{ ...first, record: unstarted }] });
  assert.ok(listed(fresh).includes("create: the claim of demo-1"));
  const uid = first.record.volumeUID ?? "";
  const claim = identified(memberClaim(view.observation.cluster, memberOf(view)), view, uid);
  const held = (object: KubeObject) => ({
    claim: (name: string) =>
      (name === claimName("demo-1")
        ? { ...object, metadata: { ...object.metadata, uid } }
        : undefined) as ReturnType<Cached["claim"]>,
  });
  const about = (object: KubeObject) => listed(view, held(object)).filter((line) => line.includes("claim"));
  assert.deepEqual(about(claim), []);
  assert.deepEqual(about({ ...claim, metadata: { ...claim.metadata, labels: {} } }), [
    "patch: the claim of demo-1",
  ]);
  const small = { ...claim, spec: { ...claim.spec, resources: { requests: { storage: "1Gi" } } } };
  assert.deepEqual(about(small), ["patch: the size of the claim of demo-1"]);
});

test("a record that lost its labels, owner or finalizer gets them back, in the version that was read", () => {
  const view = viewWith();
  const { uid, resourceVersion, createdAt: _, ...record } = memberOf(view);
  const member = newMember(view.observation.cluster, record);
  const bare = { name: member.metadata.name, namespace: "default", uid, resourceVersion };
  const held = (metadata: object) => ({
    member: (name: string) => (name === "demo-1" ? ({ ...member, metadata } as typeof member) : undefined),
  });
  const line = "patch: the record of demo-1";
  assert.ok(listed(view, held(bare)).includes(line));
  assert.ok(!listed(view, held({ ...member.metadata, ...bare })).includes(line));
  const entry = wanted(view, held(bare)).find(({ part }) => part === "the record of demo-1");
  assert.ok(entry?.policy.do === "patch" && entry.policy.exact);
});

test("the image is noted of a cluster that names no repository, and the note goes when it names one", () => {
  const view = viewWith();
  const { name, namespace, uid, generation } = view.observation.cluster;
  const { repository: _, ...image } = view.spec.image;
  const unnamed = { ...view.spec, image } as typeof view.spec;
  const note = "gcr.io/etcd-development/etcd:v3.6.16";
  const noted = (spec: typeof unnamed, annotations: Record<string, string>) => {
    const cluster = { metadata: { name, namespace, uid, generation, annotations }, spec };
    const found = wanted(view, { cluster }).find(({ part }) => part === "the recorded image")?.policy;
    return found?.do === "patch" ? found.fields.metadata : undefined;
  };
  assert.deepEqual(noted(unnamed, {}), { annotations: { [ANNOTATIONS.image]: note } });
  assert.equal(noted(unnamed, { [ANNOTATIONS.image]: note }), undefined);
  assert.deepEqual(noted(view.spec, { [ANNOTATIONS.image]: note }), {
    annotations: { [ANNOTATIONS.image]: null },
  });
});

/** As it is once its member has joined. */
function identified(claim: PersistentVolumeClaim, view: View, uid: string): PersistentVolumeClaim {
  const { labels, annotations } = volumeIdentity(view.observation.cluster, memberOf(view));
  return {
    ...claim,
    metadata: {
      ...claim.metadata,
      uid,
      labels: { ...claim.metadata?.labels, ...labels },
      annotations: { ...claim.metadata?.annotations, ...annotations },
    },
  };
}

test("a claim tells what its volume holds, and is written again only when a Pod begins or ends to use it", () => {
  const view = viewWith();
  const record = memberOf(view);
  const uid = record.volumeUID ?? "";
  const created = "2026-01-02T03:04:05Z";
  const pod = { metadata: { creationTimestamp: created, ownerReferences: [ownedByMember(record)] } };
  const patchOf = (claim: PersistentVolumeClaim, held: Partial<Cached> = {}, of = view) => {
    const list = wanted(of, { claim: (name) => (name === claimName("demo-1") ? claim : undefined), ...held });
    const found = list.find(({ part }) => part === "the claim of demo-1")?.policy;
    return found?.do === "patch" ? found.fields.metadata : undefined;
  };
  const made = memberClaim(view.observation.cluster, record);
  const bare = { ...made, metadata: { ...made.metadata, uid } };
  const running = { pod: () => pod };
  assert.deepEqual(patchOf(bare, running), {
    labels: { [LABELS.clusterID]: "1", [LABELS.memberID]: record.memberID },
    annotations: {
      [ANNOTATIONS.etcdVersion]: "3.6.16",
      [ANNOTATIONS.inUse]: "true",
      [ANNOTATIONS.lastUsed]: created,
    },
  });
  const whole = identified(made, view, uid);
  const use = { [ANNOTATIONS.inUse]: "true", [ANNOTATIONS.lastUsed]: created };
  const inUse = {
    ...whole,
    metadata: { ...whole.metadata, annotations: { ...whole.metadata?.annotations, ...use } },
  };
  assert.equal(patchOf(inUse, running), undefined);
  assert.equal(patchOf(inUse), undefined, "a cache that lacks the Pod is no end of it");
  const { observation } = view;
  const members = observation.members.map((facts) => ({
    ...facts,
    workload: { state: "absent" as const },
  }));
  const stopped = viewOf({ ...observation, members });
  const ended = {
    [ANNOTATIONS.inUse]: null,
    [ANNOTATIONS.lastUsed]: new Date(observation.now).toISOString(),
  };
  assert.deepEqual(patchOf(inUse, {}, stopped), { annotations: ended });
  assert.equal(patchOf(whole, {}, stopped), undefined, "told once");
});

test("what the spec gives to every object comes to those that exist, and goes again, in place", () => {
  const [before, after] = [
    viewWith(),
    viewWith({ metadata: { labels: { team: "a" }, annotations: { note: "x" } } }),
  ];
  const made = (view: View) => {
    const { cluster } = view.observation;
    const { uid, resourceVersion: _, createdAt: __, ...record } = memberOf(view);
    const claim = memberClaim(cluster, memberOf(view));
    const member = newMember(cluster, record);
    return {
      claim: identified(claim, view, record.volumeUID ?? ""),
      member: { ...member, metadata: { ...member.metadata, uid } },
      secret: memberSecret(cluster, memberOf(view), {}),
    };
  };
  const patches = (view: View, have: ReturnType<typeof made>) =>
    wanted(view, {
      claim: (name) => (name === have.claim.metadata?.name ? have.claim : undefined),
      member: (name) => (name === have.member.metadata.name ? have.member : undefined),
      secrets: [have.secret],
    }).flatMap(({ part, policy }) =>
      policy.do === "patch" ? [[part, policy.fields.metadata] as const] : [],
    );
  assert.deepEqual(patches(before, made(before)), []);
  assert.deepEqual(patches(after, made(after)), []);
  const note = JSON.stringify({ labels: ["team"], annotations: ["note"] });
  const given = { labels: { team: "a" }, annotations: { note: "x", [ANNOTATIONS.given]: note } };
  const parts = ["the metadata of the Secret of demo-1", "the claim of demo-1", "the record of demo-1"];
  assert.deepEqual(
    patches(after, made(before)),
    parts.map((part) => [part, given]),
  );
  const gone = { labels: { team: null }, annotations: { note: null, [ANNOTATIONS.given]: null } };
  assert.deepEqual(
    patches(before, made(after)),
    parts.map((part) => [part, gone]),
  );
  const { observation } = before;
  const unknown = viewOf({ ...observation, cluster: { ...observation.cluster, invalid: "spec.version" } });
  assert.deepEqual(patches(unknown, made(after)), [], "a spec that cannot be understood takes nothing away");
});
