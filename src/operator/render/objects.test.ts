/** Services, the budget, claims, Secrets and the configuration file. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Service } from "kubernetes-types/core/v1.d.ts";
import { specOf } from "../../core/testing/cluster.ts";
import { viewOf, type View } from "../../core/view.ts";
import { LABELS } from "../names.ts";
import { clusterWith, memberOf, rendered, type Wish } from "../testing/rendered.ts";
import { disruptionBudget } from "./budget.ts";
import { memberClaim, wantedClaimSize } from "./claim.ts";
import { configFile, FILES } from "./config.ts";
import { memberLabels, scaleSelector, selectorOf } from "./metadata.ts";
import { memberPod } from "./pod.ts";
import { canonicalQuantity } from "./quantity.ts";
import { clientSecret } from "./secret.ts";
import { newMember } from "../records/member-object.ts";
import { clusterServices, peerService } from "./services.ts";

const viewWith = (wish: Wish = {}) => clusterWith(specOf(wish));

/** As before the cluster was first seen to exist. */
function unborn(view: View): View {
  const { observation } = view;
  const { established: _, ...marks } = observation.cluster.marks;
  const members = observation.members.map((facts) => ({
    ...facts,
    record: { ...facts.record, joined: false },
  }));
  return viewOf({ ...observation, cluster: { ...observation.cluster, marks }, members });
}

describe("Services", () => {
  const services = (view: View) =>
    new Map(clusterServices(view).map((one) => [one.metadata?.name ?? "", one]));
  const leadsTo = (service: Service | undefined, labels: Record<string, string>) =>
    Object.entries(service?.spec?.selector ?? { none: "" }).every(([key, value]) => labels[key] === value);

  test("R36, R46: peers find each other before they are ready", () => {
    const peers = services(viewWith()).get("demo-peers");
    assert.equal(peers?.spec?.clusterIP, "None");
    assert.equal(peers?.spec?.publishNotReadyAddresses, true);
    assert.deepEqual(
      peers?.spec?.ports?.map(({ name, port }) => `${name} ${port}`),
      ["client 2379", "peer 2380", "metrics 2381"],
    );
  });

  test("H2: clients are let in only after the cluster was seen to exist", () => {
    assert.deepEqual([...services(unborn(viewWith())).keys()], ["demo-peers"]);
    assert.deepEqual([...services(viewWith()).keys()], ["demo-peers", "demo-client", "demo"]);
  });

  test("the cluster has a Service of its own name, unless the spec or the name of another cluster is against it", () => {
    const own = services(viewWith({ service: { type: "LoadBalancer" } })).get("demo");
    assert.equal(own?.spec?.type, "ClusterIP");
    assert.deepEqual(
      own?.spec?.ports?.map(({ port }) => port),
      [2379],
    );
    assert.equal(services(viewWith({ service: { clusterName: false } })).has("demo"), false);
    const { observation } = viewWith();
    for (const name of ["a-client", "a-peers", "a-learners", "a-1-peer"]) {
      const view = viewOf({ ...observation, cluster: { ...observation.cluster, name } });
      assert.equal(services(view).has(name), false, name);
    }
  });

  test("clients are led to voters, readers to learners, and nobody to Pods of the past or of helpers", () => {
    const view = viewWith({ learners: 1 });
    const { cluster } = view.observation;
    const found = services(view);
    const voter = memberLabels(cluster, memberOf(view), "voter");
    const learner = memberLabels(cluster, memberOf(view, 4), "learner");
    const past = memberLabels({ ...cluster, uid: "former" }, memberOf(view), "voter");
    const helper = { ...voter, "app.kubernetes.io/component": "snapshot" };
    const led = (labels: Record<string, string>) =>
      [...found].filter(([, service]) => leadsTo(service, labels)).map(([name]) => name);
    assert.deepEqual(led(voter), ["demo-peers", "demo-client", "demo"]);
    assert.deepEqual(led(learner), ["demo-peers", "demo-learners"]);
    assert.deepEqual(led(past), []);
    assert.deepEqual(led(helper), []);
  });

  test("the client Service is of the type, and bears the labels and annotations, that the spec names", () => {
    const service = { type: "LoadBalancer" as const, labels: { a: "b" }, annotations: { c: "d" } };
    const client = services(viewWith({ service })).get("demo-client");
    assert.equal(client?.spec?.type, "LoadBalancer");
    assert.equal(client?.metadata?.labels?.["a"], "b");
    assert.deepEqual(client?.metadata?.annotations, { c: "d" });
    assert.equal(services(viewWith()).get("demo-client")?.metadata?.annotations, undefined);
  });
});

describe("labels and annotations of the spec", () => {
  const metadata = { labels: { team: "a", both: "all" }, annotations: { note: "x", both: "all" } };

  test("are on every object, and ours and those of a kind win", () => {
    const pod = { labels: { both: "pod" }, annotations: { both: "pod" } };
    const service = { labels: { both: "client" }, annotations: { both: "client" } };
    const view = viewWith({ learners: 1, metadata, pod, service });
    const { cluster } = view.observation;
    const { uid: _, resourceVersion: __, createdAt: ___, ...record } = memberOf(view);
    const objects = [...rendered(view), peerService(cluster, "demo-1"), newMember(cluster, record)];
    assert.deepEqual([...new Set(objects.map(({ kind = "" }) => kind))].toSorted(), [
      "EtcdMember",
      "PersistentVolumeClaim",
      "Pod",
      "PodDisruptionBudget",
      "Secret",
      "Service",
    ]);
    for (const { kind, metadata: has } of objects) {
      const own = kind === "Pod" ? "pod" : has?.name === "demo-client" ? "client" : "all";
      const what = `${kind} ${has?.name}`;
      assert.deepEqual([has?.labels?.["team"], has?.labels?.["both"]], ["a", own], what);
      assert.deepEqual([has?.annotations?.["note"], has?.annotations?.["both"]], ["x", own], what);
      assert.equal(has?.labels?.["app.kubernetes.io/managed-by"], "quorate", what);
    }
  });

  test("nobody is selected by them", () => {
    const view = viewWith({ metadata });
    for (const service of clusterServices(view)) assert.equal(service.spec?.selector?.["team"], undefined);
    assert.equal(disruptionBudget(view)?.spec?.selector?.matchLabels?.["team"], undefined);
  });
});

describe("the disruption budget", () => {
  const least = (view: View) => disruptionBudget(view)?.spec?.minAvailable;

  test("I1: keeps a quorum of the voters that are, or of those that are meant to be", () => {
    assert.equal(least(viewWith({ replicas: 3 })), 2);
    assert.equal(least(viewWith({ replicas: 5 })), 3);
    assert.equal(least(viewWith({ replicas: 1 })), 2, "three still vote");
  });

  test("knows the voters from the records when etcd does not answer", () => {
    const { observation } = viewWith({ replicas: 1 });
    const { list: _, ...silent } = observation.etcd;
    assert.equal(least(viewOf({ ...observation, etcd: silent })), 2);
  });

  test("counts all voters, fenced or not, and is absent when it is not wanted", () => {
    const view = viewWith();
    assert.deepEqual(disruptionBudget(view)?.spec?.selector, {
      matchLabels: selectorOf(view.observation.cluster, "all"),
      matchExpressions: [{ key: LABELS.role, operator: "In", values: ["voter", "fenced-voter"] }],
    });
    assert.equal(disruptionBudget(viewWith({ disruptionBudget: { enabled: false } })), undefined);
  });
});

describe("a claim", () => {
  test("I5, I9: has no owner, and bears the cluster's UID", () => {
    const view = viewWith();
    const claim = memberClaim(view.observation.cluster, memberOf(view));
    assert.equal(claim.metadata?.ownerReferences, undefined);
    assert.equal(claim.metadata?.labels?.[LABELS.clusterUID], view.observation.cluster.uid);
  });

  test("grows when its record asks for more, and never shrinks", () => {
    const view = viewWith({ storage: { size: "10Gi" } });
    const claim = memberClaim(view.observation.cluster, memberOf(view));
    const wanted = (size: string) => wantedClaimSize(memberOf(viewWith({ storage: { size } })), claim);
    assert.equal(wanted("20480Mi"), "20Gi");
    assert.equal(wanted("10240Mi"), undefined);
    assert.equal(wanted("5Gi"), undefined);
  });

  test("names a class only when there is one: the cluster's default is the server's to fill in", () => {
    const view = viewWith();
    assert.ok(!("storageClassName" in (memberClaim(view.observation.cluster, memberOf(view)).spec ?? {})));
  });

  test("binds volumes that exist: without a class, by their labels, for one Pod alone", () => {
    const selector = { matchLabels: { disk: "a" } };
    const view = viewWith({
      storage: { className: "", selector, accessModes: ["ReadWriteOncePod"], volumeMode: "Filesystem" },
    });
    const { spec } = memberClaim(view.observation.cluster, memberOf(view));
    assert.deepEqual(
      [spec?.storageClassName, spec?.selector, spec?.accessModes],
      ["", selector, ["ReadWriteOncePod"]],
    );
  });
});

test("quantities are written as the API server keeps them", () => {
  const cases: [string | number, string][] = [
    ["1024Mi", "1Gi"],
    ["1.5Gi", "1536Mi"],
    ["0.1Gi", "107374183"],
    ["1Ki", "1Ki"],
    ["0.5Ki", "512"],
    ["10G", "10G"],
    ["1500M", "1500M"],
    ["2000M", "2G"],
    ["0.5", "500m"],
    [".5", "500m"],
    ["1000m", "1"],
    ["100m", "100m"],
    [1000, "1k"],
    [10_737_418_240, "10737418240"],
    ["1e3", "1e3"],
    ["1e4", "10e3"],
    ["0", "0"],
    ["0Gi", "0"],
    ["0.1n", "1n"],
    ["+5", "5"],
  ];
  for (const [given, wanted] of cases) assert.equal(canonicalQuantity(given), wanted, String(given));
  for (const bad of ["", "Gi", "1X", "1.2.3", "five"])
    assert.throws(() => canonicalQuantity(bad), RangeError, bad);
});

describe("the configuration file", () => {
  const config = (view: View) =>
    JSON.parse(configFile(memberOf(view), view.established)) as Record<string, never>;

  test("names the certificates where the Secret's files are mounted", () => {
    const secure = config(viewWith());
    assert.deepEqual(secure["peer-transport-security"]?.["cert-file"], `/etc/etcd/${FILES.peerPem}`);
    assert.deepEqual(
      secure["peer-transport-security"]?.["client-cert-file"],
      `/etc/etcd/${FILES.peerClientPem}`,
    );
    assert.deepEqual(secure["client-transport-security"]?.["trusted-ca-file"], `/etc/etcd/${FILES.clientCA}`);
    assert.equal(secure["data-dir"], "/var/lib/etcd/data");
  });

  test("names none where there is no TLS", () => {
    assert.equal(config(viewWith({ tls: { mode: "Disabled" } }))["client-transport-security"], undefined);
  });

  test("I3: says `new` only before the cluster was seen to exist", () => {
    assert.equal(config(viewWith())["initial-cluster-state"], "existing");
    assert.equal(config(unborn(viewWith()))["initial-cluster-state"], "new");
  });
});

test("a client's Secret has the shape that programs expect: certificate, key and authority", () => {
  const secret = clientSecret(viewWith().observation.cluster, { certificate: "a", key: "b", ca: "c" });
  assert.equal(secret.type, "kubernetes.io/tls");
  assert.deepEqual(secret.data, { "tls.crt": "YQ==", "tls.key": "Yg==", "ca.crt": "Yw==" });
});

test("the selector of the scale subresource is that of the voters, fenced or not", () => {
  const { cluster } = viewWith().observation;
  const members = Object.entries(selectorOf(cluster, "all")).map(([key, value]) => `${key}=${value}`);
  assert.equal(scaleSelector(cluster), `${members.join(",")},${LABELS.role} in (voter,fenced-voter)`);
});

test("the same record and spec give the same objects: nothing depends on time or order", () => {
  assert.deepEqual(rendered(viewWith({ learners: 1 })), rendered(viewWith({ learners: 1 })));
});

test("a Pod follows its record, not the cluster's spec", () => {
  const view = viewWith();
  const edited = {
    ...view.observation.cluster,
    spec: specOf({ version: "3.7.3", pod: { labels: { a: "b" } } }),
  };
  const how = { role: "voter", gated: false } as const;
  assert.deepEqual(
    memberPod(edited, memberOf(view), how),
    memberPod(view.observation.cluster, memberOf(view), how),
  );
});
