import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Container, Pod } from "kubernetes-types/core/v1.d.ts";
import type { MemberRecord } from "../../core/record.ts";
import { startHash } from "../../core/template/template.ts";
import { specOf } from "../../core/testing/cluster.ts";
import { ANNOTATIONS, hostOf, LABELS } from "../names.ts";
import { newMember } from "../records/member-object.ts";
import { clusterWith, memberOf, type Wish } from "../testing/rendered.ts";
import { memberPod, type PodWishes } from "./pod.ts";
import { peerService } from "./services.ts";

function podOf(wish: Wish = {}, how: Partial<PodWishes> = {}): Pod {
  const view = clusterWith(specOf(wish));
  return memberPod(view.observation.cluster, memberOf(view), {
    role: "voter",
    gated: false,
    ...how,
  });
}

function etcdOf(pod: Pod): Container {
  const [etcd] = pod.spec?.containers ?? [];
  assert.ok(etcd);
  return etcd;
}

const volume = (pod: Pod, name: string) => pod.spec?.volumes?.find((one) => one.name === name);

describe("the Pod of a member", () => {
  test("is found under the name that clients dial", () => {
    const view = clusterWith(specOf());
    const { hostname, subdomain } = podOf().spec ?? {};
    assert.equal(`${hostname}.${subdomain}.default.svc`, hostOf(view.observation.cluster, "demo-1"));
    assert.equal(
      new URL(memberOf(view).address.clientURL).hostname,
      hostOf(view.observation.cluster, "demo-1"),
    );
  });

  test("and no other is behind the Service that its peers dial, ready or not (H15)", () => {
    const view = clusterWith(specOf());
    const { metadata, spec } = peerService(view.observation.cluster, "demo-1");
    const { hostname } = new URL(memberOf(view).address.peerURL);
    assert.equal(`${metadata?.name}.${metadata?.namespace}.svc`, hostname);
    assert.equal(spec?.publishNotReadyAddresses, true);
    const isBehind = (pod: Pod) =>
      Object.entries(spec?.selector ?? {}).every(([key, value]) => pod.metadata?.labels?.[key] === value);
    assert.equal(isBehind(podOf()), true);
    const how = { role: "voter", gated: false } as const;
    assert.equal(isBehind(memberPod(view.observation.cluster, memberOf(view, 2), how)), false);
  });

  test("I3: starts etcd from the file in the member's Secret, and passes no flag beside it", () => {
    const pod = podOf();
    assert.deepEqual(etcdOf(pod).args, ["--config-file=/etc/etcd/etcd.json"]);
    assert.equal(volume(pod, "config")?.secret?.secretName, "demo-1");
    const mounts = etcdOf(pod).volumeMounts ?? [];
    assert.equal(mounts.find(({ name }) => name === "config")?.subPath, undefined, "it must follow changes");
  });

  test("H14: belongs to its record, which controls it, and says what it was started from", () => {
    const { metadata } = podOf();
    const view = clusterWith(specOf());
    const [owner] = metadata?.ownerReferences ?? [];
    assert.deepEqual([owner?.kind, owner?.uid, owner?.controller], ["EtcdMember", memberOf(view).uid, true]);
    assert.equal(metadata?.annotations?.[ANNOTATIONS.startedFrom], startHash(memberOf(view)));
  });

  test("bears the user's labels and annotations, and ours, which win", () => {
    const pod = { labels: { team: "a", [LABELS.role]: "other" }, annotations: { note: "b" } };
    const { metadata } = podOf({ pod: pod as NonNullable<Wish["pod"]> }, { role: "learner" });
    assert.equal(metadata?.labels?.["team"], "a");
    assert.equal(metadata?.labels?.[LABELS.role], "learner");
    assert.equal(metadata?.annotations?.["note"], "b");
  });

  test("H2, H4: waits behind a gate until its record permits it", () => {
    assert.deepEqual(podOf({}, { gated: true }).spec?.schedulingGates, [{ name: "etcd.quorate.dev/permit" }]);
    assert.equal(podOf().spec?.schedulingGates, undefined);
  });

  test("gets no token and no variables of Services, unless an account is named", () => {
    assert.equal(podOf().spec?.automountServiceAccountToken, false);
    assert.equal(podOf().spec?.enableServiceLinks, false);
    assert.equal(podOf({ pod: { serviceAccountName: "reader" } }).spec?.automountServiceAccountToken, true);
  });

  test("is of the version's image, or of the digest that pins it", () => {
    const digest = `sha256:${"0".repeat(64)}`;
    assert.equal(etcdOf(podOf({ version: "3.6.16" })).image, "gcr.io/etcd-development/etcd:v3.6.16");
    assert.equal(
      etcdOf(podOf({ image: { repository: "r.example/etcd", digest } })).image,
      `r.example/etcd@${digest}`,
    );
  });
});

describe("its data", () => {
  const data = (storage: NonNullable<Wish["storage"]>) => volume(podOf({ storage }), "data");

  test("is on its claim", () => {
    assert.deepEqual(data({})?.persistentVolumeClaim, { claimName: "data-demo-1" });
  });

  test("is in memory or on the node's disk, no larger than asked for", () => {
    assert.deepEqual(data({ medium: "Memory", size: "4096Mi" })?.emptyDir, {
      medium: "Memory",
      sizeLimit: "4Gi",
    });
    assert.deepEqual(data({ medium: "Ephemeral", size: "4Gi" })?.emptyDir, { sizeLimit: "4Gi" });
  });

  test("I4: is in a directory of the node that no other member ever has, and that tells whose it is", () => {
    const storage = { medium: "HostPath", hostPath: "/var/lib/etcd/" } as const;
    const view = clusterWith(specOf({ storage }));
    const { cluster } = view.observation;
    const record = memberOf(view);
    const { [ANNOTATIONS.directory]: directory } = newMember(cluster, record).metadata.annotations ?? {};
    const pod = memberPod(cluster, record, { role: "voter", gated: false, ...(directory && { directory }) });
    const path = `/var/lib/etcd/default/demo.${cluster.uid}/${record.name}.${record.uid}`;
    const found = pod.spec?.volumes?.find(({ name }) => name === "data");
    assert.deepEqual(found?.hostPath, { path, type: "DirectoryOrCreate" });
  });

  test("stays in the directory that an earlier operator named, which recorded none", () => {
    const path = `/var/lib/etcd/default/demo/${memberOf(clusterWith(specOf())).uid}`;
    const found = data({ medium: "HostPath", hostPath: "/var/lib/etcd/" });
    assert.deepEqual(found?.hostPath, { path, type: "DirectoryOrCreate" });
  });

  test("is in a subdirectory of the mount, which may hold a lost+found", () => {
    const mount = etcdOf(podOf()).volumeMounts?.find(({ name }) => name === "data");
    assert.equal(mount?.mountPath, "/var/lib/etcd");
  });
});

describe("what it may do", () => {
  test("is the restricted profile: no root, no capabilities, no writing but in its data directory", () => {
    const pod = podOf();
    assert.equal(pod.spec?.securityContext?.runAsNonRoot, true);
    assert.deepEqual(pod.spec?.securityContext?.seccompProfile, { type: "RuntimeDefault" });
    assert.deepEqual(etcdOf(pod).securityContext, {
      allowPrivilegeEscalation: false,
      capabilities: { drop: ["ALL"] },
      readOnlyRootFilesystem: true,
    });
  });

  test("on a directory of the node, which is root's, is as root without capabilities", () => {
    const pod = podOf({ storage: { medium: "HostPath", hostPath: "/data" } });
    assert.equal(pod.spec?.securityContext?.runAsUser, 0);
    assert.deepEqual(etcdOf(pod).securityContext?.capabilities, { drop: ["ALL"] });
  });

  test("is what the user says, and then whole", () => {
    assert.deepEqual(podOf({ pod: { securityContext: { runAsUser: 7 } } }).spec?.securityContext, {
      runAsUser: 7,
    });
  });

  test("lets it read its key as whoever it runs", () => {
    const mode = (pod: Pod) => volume(pod, "config")?.secret?.defaultMode;
    assert.equal(mode(podOf()), 0o440);
    assert.equal(mode(podOf({ pod: { securityContext: { runAsUser: 7, fsGroup: 7 } } })), 0o440);
    assert.equal(mode(podOf({ pod: { securityContext: { runAsUser: 7 } } })), 0o444);
  });

  test("holds for sidecars too, unless they say otherwise", () => {
    const sidecars = [
      { name: "log", image: "log:1" },
      { name: "net", image: "net:1", securityContext: { capabilities: { add: ["NET_ADMIN"] } } },
    ];
    const [, log, net] = podOf({ pod: { sidecars } }).spec?.containers ?? [];
    assert.deepEqual(log?.securityContext?.capabilities, { drop: ["ALL"] });
    assert.deepEqual(net?.securityContext, { capabilities: { add: ["NET_ADMIN"] } });
  });
});

describe("where it may run", () => {
  const required = (pod: Pod) =>
    pod.spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  const here = { key: "metadata.name", operator: "In" as const, values: ["node-7"] };

  test("is rather not beside another member of its cluster, by node and by zone", () => {
    const terms = podOf().spec?.affinity?.podAntiAffinity?.preferredDuringSchedulingIgnoredDuringExecution;
    const keys = terms?.map(({ podAffinityTerm }) => podAffinityTerm.topologyKey);
    assert.deepEqual(keys, ["kubernetes.io/hostname", "topology.kubernetes.io/zone"]);
  });

  test("is as the user says, also with nothing at all", () => {
    assert.deepEqual(podOf({ pod: { affinity: {} } }).spec?.affinity, {});
  });

  test("is the node that holds its directory, beside what the user says", () => {
    const disk = { key: "disk", operator: "In" as const, values: ["fast"] };
    const nodeSelectorTerms = [{ matchExpressions: [disk] }, { matchFields: [] }];
    const affinity = {
      nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } },
    };
    assert.deepEqual(required(podOf({}, { node: "node-7" })), [{ matchFields: [here] }]);
    assert.deepEqual(required(podOf({ pod: { affinity } }, { node: "node-7" })), [
      { matchExpressions: [disk], matchFields: [here] },
      { matchFields: [here] },
    ]);
  });

  test("spreads by the members of its own cluster, unless another selector is given", () => {
    const one = { maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "DoNotSchedule" as const };
    const labelSelector = { matchLabels: { app: "x" } };
    const spread = podOf({ pod: { topologySpreadConstraints: [one, { ...one, labelSelector }] } });
    const [ours, given] = spread.spec?.topologySpreadConstraints ?? [];
    assert.equal(ours?.labelSelector?.matchLabels?.[LABELS.cluster], "demo");
    assert.deepEqual(given?.labelSelector, labelSelector);
  });
});

describe("how it is probed", () => {
  test("H12: it may be silent for longer than a defragmentation at full quota", () => {
    const probe = (quotaBackendBytes: string) => {
      const { livenessProbe } = etcdOf(podOf({ options: { quotaBackendBytes } }));
      return (livenessProbe?.periodSeconds ?? 0) * (livenessProbe?.failureThreshold ?? 0);
    };
    assert.ok(probe("8Gi") >= 3 * 8 * 15, `${probe("8Gi")} s`);
    assert.ok(probe("64Mi") >= 90, `${probe("64Mi")} s`);
  });

  test("R35: alive is what answers by itself, and a slow start is given time", () => {
    const { livenessProbe, startupProbe } = etcdOf(podOf());
    assert.equal(livenessProbe?.httpGet?.path, "/livez");
    assert.equal(startupProbe?.httpGet?.path, "/livez");
    const patience = (startupProbe?.periodSeconds ?? 0) * (startupProbe?.failureThreshold ?? 0);
    assert.ok(patience >= 600);
  });

  test("R36: who joins to vote is ready once it votes; founders and standing learners without that", () => {
    const view = clusterWith(specOf({ learners: 1 }));
    const path = (record: MemberRecord) => {
      const pod = memberPod(view.observation.cluster, record, { role: "voter", gated: false });
      return etcdOf(pod).readinessProbe?.httpGet?.path;
    };
    const [founder, learner] = [memberOf(view), memberOf(view, 4)];
    assert.equal(path({ ...founder, boot: "Join" }), "/readyz?exclude=data_corruption");
    for (const record of [founder, learner])
      assert.equal(path(record), "/readyz?exclude=data_corruption&exclude=non_learner");
  });

  test("R34: of versions without these paths, an open port is enough to be alive", () => {
    for (const version of ["3.4.28", "3.5.10"]) {
      const { livenessProbe, readinessProbe } = etcdOf(podOf({ version }));
      assert.deepEqual(livenessProbe?.tcpSocket, { port: "metrics" }, version);
      assert.match(readinessProbe?.httpGet?.path ?? "", /^\/health/);
    }
    for (const version of ["3.4.29", "3.5.11", "3.6.0"])
      assert.equal(etcdOf(podOf({ version })).livenessProbe?.httpGet?.path, "/livez", version);
  });
});
