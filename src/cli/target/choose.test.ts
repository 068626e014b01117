import assert from "node:assert/strict";
import { test } from "node:test";
import { CommandError, EXIT } from "../exit.ts";
import { UsageError } from "../io.ts";
import { chosenCluster, chosenMember, noSuch } from "./choose.ts";
import type { ClusterObject, Target } from "./target.ts";

function targetWith(...names: string[]): Target {
  const clusters = names.map((name) => ({ metadata: { name } }) as ClusterObject);
  const members = ["demo-1", "demo-2"].map((name) => ({ metadata: { name } }));
  return {
    kind: "kubernetes",
    command: "kubectl etcd",
    where: "in namespace prod",
    clusters: async () => clusters,
    cluster: async (name: string) => clusters.find(({ metadata }) => metadata.name === name),
    members: async () => members,
  } as unknown as Target;
}

test("without a name the only cluster is meant", async () => {
  assert.equal((await chosenCluster(targetWith("demo"), undefined)).metadata.name, "demo");
});

test("without a name, several clusters are listed and none is chosen", async () => {
  await assert.rejects(
    chosenCluster(targetWith("demo", "other"), undefined),
    (error) =>
      error instanceof UsageError &&
      error.message === "there are 2 clusters in namespace prod; name one of them: demo, other",
  );
});

test("without any cluster the hint says how to look elsewhere, in the words of the caller", async () => {
  await assert.rejects(
    chosenCluster(targetWith(), undefined),
    (error) =>
      error instanceof CommandError &&
      error.code === EXIT.notFound &&
      /no EtcdCluster in namespace prod\..*kubectl etcd list -A/.test(error.message),
  );
});

test("a member that does not exist is answered with the nearest that does", async () => {
  const target = targetWith("demo");
  const cluster = await target.cluster("demo");
  assert.equal((await chosenMember(target, cluster, "demo-2")).metadata.name, "demo-2");
  await assert.rejects(chosenMember(target, cluster, "dmeo-1"), /did you mean demo-1\?/);
  await assert.rejects(chosenMember(target, cluster, "demo-9"), /; there are demo-1, demo-2/);
});

test("a long list of names is cut", () => {
  const names = Array.from({ length: 40 }, (_, index) => `cluster-${index}`);
  assert.match(noSuch("cluster", "zzz", names, "here").message, /cluster-11 and 28 more$/);
});
