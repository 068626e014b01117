import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { EtcdClusterSpecInput } from "../../api/etcd-cluster-spec.ts";
import { decide } from "../decide.ts";
import { asBefore, type LaterField } from "./later-fields.ts";
import type { MemberTemplate } from "../record.ts";
import {
  processWith,
  lacksOnlyResources,
  renderedFor,
  sameStart,
  sameTemplate,
  startHash,
  startOf,
  templateFor,
  templateHash,
  transition,
} from "./template.ts";
import { healthy, specOf } from "../testing/cluster.ts";
import { recordOf } from "../testing/record.ts";

interface Written {
  readonly spec: Partial<EtcdClusterSpecInput>;
  /** As it stands in a record. */
  readonly template: string;
  /** As it stands on the cluster, in `failed-target` and `approve`. */
  readonly hash: string;
  /** As it stands on a Pod. */
  readonly startedFrom: string;
}

/**
 * As objects hold them that were written before. These lines do not change: should this fail, an operator of today
 * would restart, or take for another one, what an earlier operator made. Name the new field in later-fields.ts.
 */
const WRITTEN: Readonly<Record<string, Written>> = {
  "of nothing but defaults": {
    spec: {},
    template:
      '{"version":"3.6.16","image":{"repository":"gcr.io/etcd-development/etcd","pullPolicy":"IfNotPresent","pullSecrets":[]},"options":{"quotaBackendBytes":"2Gi","autoCompaction":{"mode":"Periodic","retention":"10h"},"heartbeatInterval":"100ms","electionTimeout":"1s","metrics":"Basic","logLevel":"Info","corruptCheck":{"initial":true,"compactHash":true,"compactHashTime":"1m","time":"0s"},"featureGates":{},"extraArgs":{}},"storage":{"medium":"Persistent","size":"10Gi"},"tls":{"mode":"Managed","clientAuth":"Required","extraSANs":[]},"pod":{"resources":{"requests":{"cpu":"100m","memory":"256Mi"}},"topologySpreadConstraints":[],"nodeSelector":{},"tolerations":[],"labels":{},"annotations":{},"env":[],"sidecars":[],"terminationGracePeriodSeconds":60},"renderVersion":1}',
    hash: "210cd5ac55fcd91a",
    startedFrom: "e81f534c8d670433.289698a724cb4119",
  },
  "of many wishes": {
    spec: {
      version: "3.5.35",
      // As the API server stored it, when 2Gi was the default whatever the size.
      options: { quotaBackendBytes: "2Gi", snapshotCount: 5000, extraArgs: { "max-txn-ops": "256" } },
      storage: { medium: "Memory", size: "1Gi" },
      tls: { mode: "Disabled" },
      pod: {
        labels: { team: "a" },
        nodeSelector: { disk: "fast" },
        terminationGracePeriodSeconds: 5,
        resources: { requests: { cpu: "1" } },
      },
    },
    template:
      '{"version":"3.5.35","image":{"repository":"gcr.io/etcd-development/etcd","pullPolicy":"IfNotPresent","pullSecrets":[]},"options":{"quotaBackendBytes":"2Gi","autoCompaction":{"mode":"Periodic","retention":"10h"},"heartbeatInterval":"100ms","electionTimeout":"1s","snapshotCount":5000,"metrics":"Basic","logLevel":"Info","corruptCheck":{"initial":true,"compactHash":true,"compactHashTime":"1m","time":"0s"},"featureGates":{},"extraArgs":{"max-txn-ops":"256"}},"storage":{"medium":"Memory","size":"1Gi"},"tls":{"mode":"Disabled","clientAuth":"Required","extraSANs":[]},"pod":{"resources":{"requests":{"cpu":"1"}},"topologySpreadConstraints":[],"nodeSelector":{"disk":"fast"},"tolerations":[],"labels":{"team":"a"},"annotations":{},"env":[],"sidecars":[],"terminationGracePeriodSeconds":5},"renderVersion":1}',
    hash: "03f53d5b5bf7a276",
    startedFrom: "90cfc2466ccdd8fe.ccf0d11665580fd2",
  },
};

describe("a member that an earlier operator made is up to date", () => {
  for (const [title, { spec: input, template: text, hash, startedFrom }] of Object.entries(WRITTEN))
    test(`with a template ${title}`, () => {
      const spec = specOf(input);
      const template = JSON.parse(text) as MemberTemplate;
      assert.ok(sameTemplate(template, templateFor(spec, spec.version)), "nobody rolls");
      assert.equal(templateHash(template), hash);
      for (const now of [template, templateFor(spec, spec.version)])
        assert.equal(startHash({ template: now, joined: true, initialCluster: [] }), startedFrom);
    });

  test("also when the generation of our rendering is another one by now", () => {
    const world = healthy();
    const members = world.members.map((facts) => {
      const template = { ...facts.record.template, renderVersion: 7 };
      return { ...facts, record: { ...facts.record, template } };
    });
    const { act, converged } = decide({ ...world, members });
    assert.deepEqual([act, converged], [undefined, true]);
  });
});

test("our newer rendering is for processes that start anew, and comes with nothing that restarts nobody", () => {
  const before = { ...templateFor(specOf(), "3.6.16"), renderVersion: 1 };
  const grown = templateFor(specOf({ storage: { size: "20Gi" } }), "3.6.16");
  assert.equal(renderedFor(before, grown).renderVersion, 1);
  assert.equal(renderedFor(before, grown).storage.size, "20Gi");
  const other = templateFor(specOf(), "3.6.14");
  assert.equal(renderedFor(before, other), other);
});

test("a field that came later is as good as absent while it asks for nothing, and counts when it asks for something", () => {
  const later: readonly LaterField[] = [
    { path: "pod.hostUsers", absent: true },
    { path: "options.corruptCheck.deep", absent: { every: "0s" } },
    { path: "nothing.of.this", absent: 1 },
  ];
  const before = templateFor(specOf(), "3.6.16");
  const withField = (hostUsers: boolean, every: string) =>
    ({
      ...before,
      pod: { ...before.pod, hostUsers },
      options: { ...before.options, corruptCheck: { ...before.options.corruptCheck, deep: { every } } },
    }) as MemberTemplate;
  assert.deepEqual(asBefore(withField(true, "0s"), later), before);
  assert.deepEqual(asBefore(before, later), before);
  assert.notDeepEqual(asBefore(withField(false, "0s"), later), before);
  assert.notDeepEqual(asBefore(withField(true, "1h"), later), before);
});

test("what it takes to follow: nothing, a record, other resources, a restart, or another volume", () => {
  const of = (input: Partial<EtcdClusterSpecInput>) => templateFor(specOf(input), "3.6.16");
  const base = of({});
  const cpu = of({ pod: { resources: { requests: { cpu: "1" } } } });
  const debug = of({ options: { logLevel: "Debug" } });
  assert.equal(transition(base, of({})), "none");
  assert.equal(transition(base, of({ pod: { labels: { team: "a" } } })), "record");
  assert.equal(transition(base, of({ storage: { size: "20Gi" } })), "record");
  assert.equal(transition(base, of({ storage: { size: "5Gi" } })), "swap");
  assert.equal(transition(base, of({ storage: { className: "fast" } })), "swap");
  assert.equal(transition(base, of({ storage: { medium: "Memory" } })), "swap");
  assert.equal(
    transition(base, of({ storage: { className: "" } })),
    "swap",
    "another than the default class",
  );
  assert.equal(transition(base, of({ storage: { selector: { matchLabels: { disk: "a" } } } })), "swap");
  assert.equal(transition(base, of({ storage: { accessModes: ["ReadWriteOncePod"] } })), "swap");
  assert.equal(transition(base, of({ storage: { accessModes: ["ReadWriteOnce"] } })), "none", "the default");
  assert.equal(transition(base, of({ storage: { volumeMode: "Filesystem" } })), "none", "the only one");
  assert.equal(transition(base, debug), "restart");
  assert.equal(transition(base, cpu), "restart");
  assert.equal(transition(base, cpu, { resizable: true }), "resize");
  assert.equal(transition(base, debug, { resizable: true }), "restart");
  const memory = of({ storage: { medium: "Memory" } });
  const memoryDebug = of({ storage: { medium: "Memory" }, options: { logLevel: "Debug" } });
  assert.equal(transition(memory, memoryDebug), "swap", "a restart would lose its data (H4)");
  assert.equal(transition(memory, memoryDebug, { hasData: false }), "restart");
});

test("another source of certificates restarts nobody: etcd reads its leaves anew", () => {
  const issuedBy = (name: string) => ({
    mode: "CertManager" as const,
    client: { certManager: { server: { name }, operator: { name } } },
    peer: { certManager: { member: { name } } },
  });
  const given = (name: string) => ({
    mode: "Secrets" as const,
    client: { secrets: { server: name, operator: "operator" } },
    peer: { secrets: { member: name } },
  });
  for (const tls of [issuedBy, given]) {
    const of = (name: string) => templateFor(specOf({ tls: tls(name) }), "3.6.16");
    assert.equal(transition(of("a"), of("b")), "record");
  }
});

test("a certificate of the gateway's own restarts a member, another Secret with one does not", () => {
  const of = (gateway?: string, clientAuth: "Required" | "None" = "Required") => {
    const secrets = { server: "a", operator: "b", ...(gateway && { gateway }) };
    return templateFor(specOf({ tls: { clientAuth, client: { mode: "Secrets", secrets } } }), "3.6.16");
  };
  assert.equal(transition(of(), of("c")), "restart");
  assert.equal(transition(of("c"), of("d")), "record");
  assert.equal(transition(of(undefined, "None"), of("c", "None")), "record", "nobody asks for one");
});

test("another size: claims grow in place, the limit of an emptyDir needs another Pod, a directory has none", () => {
  const sized = (medium: "Persistent" | "Memory" | "Ephemeral" | "HostPath", size: string) =>
    templateFor(
      specOf({ storage: { medium, size, ...(medium === "HostPath" && { hostPath: "/data" }) } }),
      "3.6.16",
    );
  const follows = (medium: Parameters<typeof sized>[0], size: string) =>
    transition(sized(medium, "10Gi"), sized(medium, size));
  assert.deepEqual([follows("Persistent", "20Gi"), follows("Persistent", "5Gi")], ["record", "swap"]);
  assert.deepEqual([follows("Memory", "20Gi"), follows("Memory", "5Gi")], ["swap", "swap"]);
  assert.deepEqual([follows("Ephemeral", "20Gi"), follows("Ephemeral", "5Gi")], ["swap", "swap"]);
  assert.deepEqual([follows("HostPath", "20Gi"), follows("HostPath", "5Gi")], ["record", "record"]);
});

test("a quota that the spec leaves open is 2Gi, or half of a volume smaller than that", () => {
  const quota = (input: Partial<EtcdClusterSpecInput>) =>
    templateFor(specOf(input), "3.6.16").options.quotaBackendBytes;
  assert.equal(quota({}), "2Gi");
  assert.equal(quota({ storage: { size: "2Gi" } }), "2Gi");
  assert.equal(quota({ storage: { size: "1Gi" } }), "512Mi");
  assert.equal(quota({ storage: { medium: "HostPath", hostPath: "/data", size: "1Gi" } }), "2Gi");
  assert.equal(quota({ storage: { size: "1Gi" }, options: { quotaBackendBytes: "1Gi" } }), "1Gi");
});

test("a start is told by the list until the member has joined, in whatever order the list was written", () => {
  const record = recordOf("3.6.16");
  const turned = { ...record, initialCluster: record.initialCluster.toReversed() };
  const fewer = { ...record, initialCluster: record.initialCluster.slice(1) };
  assert.equal(startHash(turned), startHash(record));
  assert.notEqual(startHash(fewer), startHash(record));
  const joined = { ...record, joined: true };
  assert.equal(startHash({ ...fewer, joined: true }), startHash(joined));
  assert.equal(sameStart(startHash(record), joined), true, "a latch restarts nobody");
  assert.equal(sameStart(startHash(fewer), record), false);
  assert.equal(sameStart(startHash(joined), record), false);
});

test("whoever lacks only resources has joined, runs the same otherwise, and not with the same resources", () => {
  const record = recordOf("3.6.16", {}, { joined: true });
  const other = recordOf("3.6.16", { pod: { resources: { requests: { cpu: "1" } } } }, { joined: true });
  const debug = recordOf("3.6.16", { options: { logLevel: "Debug" } }, { joined: true });
  assert.equal(lacksOnlyResources(startHash(record), other), true);
  assert.equal(lacksOnlyResources(startHash(record), record), false);
  assert.equal(lacksOnlyResources(startHash(debug), record), false);
  assert.equal(lacksOnlyResources(startHash(record), { ...other, joined: false }), false);
});

test("a restart stamp makes the start another one, and a record without it starts as ever", () => {
  const record = recordOf("3.6.16", {}, { joined: true });
  const stamped = { ...record, restart: "operation-1" };
  assert.equal(startHash({ ...stamped, restart: undefined } as unknown as typeof record), startHash(record));
  assert.equal(sameStart(startHash(record), stamped), false);
  assert.equal(lacksOnlyResources(startHash(record), stamped), false);
  assert.equal(sameStart(startHash(stamped), stamped), true);
  assert.equal(sameStart(startHash(stamped), { ...record, restart: "operation-2" }), false);
  assert.equal(sameStart(startHash({ ...stamped, joined: false }), stamped), true, "a latch restarts nobody");
});

test("the start of another TLS or version is the same, however it is come by", () => {
  const planes: NonNullable<EtcdClusterSpecInput["tls"]>[] = [
    { mode: "Managed" },
    { mode: "Disabled" },
    { client: { mode: "Disabled" }, clientAuth: "None" },
  ];
  for (const restart of [undefined, "stamp"])
    for (const tls of planes)
      for (const version of ["3.6.16", "3.7.3"]) {
        const record = {
          ...recordOf("3.6.16", {}, { joined: true }),
          ...(restart !== undefined && { restart }),
        };
        const other = { tls: templateFor(specOf({ tls }), version).tls, version };
        const { process } = startOf({ ...record, template: { ...record.template, ...other }, joined: true });
        assert.equal(processWith(record, other), process);
      }
});
