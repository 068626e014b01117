/** What a path leads to, the plan's hash, and how the recovered etcd is started; with real data in test/etcd. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ownerOf, type MemberFound } from "./found.ts";
import { memberPlan, snapshotPlan, type DataFacts } from "./plan.ts";
import { servingFlags, staticPod } from "./serve.ts";

function facts(index = 100): DataFacts {
  const member = (id: string, name: string, isLearner = false) => ({ id, name, peerURLs: [], isLearner });
  return {
    state: "data",
    log: { clusterID: "c", memberID: "3", last: { term: 4, index } } as DataFacts["log"],
    database: {
      consistentIndex: 90,
      revision: 80,
      size: 1,
      members: [
        member("2", "demo-2"),
        member("1", "demo-1"),
        member("3", "demo-3"),
        member("4", "demo-4", true),
      ],
    },
  };
}

const found = (dataDir: string): MemberFound => ({ dataDir, workBase: "/w", facts: facts() });

test("the name of a HostPath directory tells whose it is, and others tell nothing", () => {
  assert.deepEqual(ownerOf("/data/prod/demo.5c7e0f7a-1/demo-2.b1d6f0c2"), {
    namespace: "prod",
    cluster: "demo",
    member: "demo-2",
  });
  for (const other of ["/var/lib/etcd", "/data/prod/demo/b1d6f0c2", "/data/prod/demo.5c7e/other-2.b1d6"])
    assert.equal(ownerOf(other), undefined, other);
});

test("a plan is for one directory as it was read, and one version; voters beside it are named", () => {
  const plan = memberPlan(found("/a"), facts(), "3.6.16");
  assert.equal(plan.name, "demo-3");
  assert.deepEqual(plan.others, ["demo-1", "demo-2"]);
  assert.deepEqual(plan.revision, { least: 80, most: 90 });
  assert.equal(memberPlan(found("/a"), facts(), "3.6.16").hash, plan.hash);
  const others = [
    memberPlan(found("/b"), facts(), "3.6.16"),
    memberPlan(found("/a"), facts(101), "3.6.16"),
    memberPlan(found("/a"), facts(), "3.6.14"),
    snapshotPlan({ file: "/s", sha256: "1", size: 1, revision: 80, totalKeys: 1 }, "3.6.16"),
  ];
  assert.equal(new Set([plan, ...others].map(({ hash }) => hash)).size, 5);
});

test("the static Pod has the flags of the process, its files where they are, and never --force-new-cluster", () => {
  const serving = {
    name: "demo-3",
    dataDir: "/w/data",
    clientURL: "https://10.0.0.7:2379",
    peerURL: "http://127.0.0.1:2380",
    metricsURL: "http://127.0.0.1:2381",
    tls: { cert: "/pki/etcd/server.crt", key: "/pki/etcd/server.key", ca: "/pki/ca.crt" },
  };
  const flags = servingFlags(serving);
  assert.ok(flags.includes("--client-cert-auth=true"));
  assert.ok(!flags.some((flag) => flag.includes("force")));
  const { spec } = staticPod(serving, { image: "etcd:v3.6.16", plan: "1" }) as {
    spec: { containers: { args: string[] }[]; volumes: { hostPath: { path: string } }[] };
  };
  assert.deepEqual(spec.containers[0]?.args, flags);
  assert.deepEqual(
    spec.volumes.map(({ hostPath }) => hostPath.path),
    ["/w/data", "/pki/etcd", "/pki"],
  );
});
