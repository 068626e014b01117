/** The names that completion offers: clusters, and members of those that the words so far mean. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { dispatch } from "../dispatch.ts";
import type { Target } from "../target/target.ts";
import { collectingIo } from "../testing.ts";
import { demo, FakeTarget } from "../testing/fake-target.ts";
import { verbs } from "../verbs.ts";
import { targetValues } from "./complete.ts";

test("completion offers members of the cluster that was named, or of all whose names fit", async () => {
  const clusters = ["demo", "demo-db", "other"].map((name) => ({
    ...demo(),
    metadata: { ...demo().metadata, name },
  }));
  const target = new FakeTarget(clusters) as unknown as Target;
  const names = async (...words: string[]) => {
    const io = collectingIo({ target });
    assert.equal(await dispatch(["__complete", "--", ...words], verbs, "1.0.0", io), 0);
    return io.out().trimEnd().split("\n");
  };
  assert.deepEqual(await names("status", "o"), ["other"]);
  assert.deepEqual(await names("member", "replace", "other"), ["other-1", "other-2", "other-3"]);
  assert.deepEqual(await names("member", "replace", "demo-1"), ["demo-1"]);
  assert.deepEqual(await names("restart", "demo-"), [
    "demo-db",
    ..."123".split("").flatMap((n) => `demo-${n}`),
    ..."123".split("").map((n) => `demo-db-${n}`),
  ]);
  assert.deepEqual(await names("restart", "other", ""), ["other-1", "other-2", "other-3"]);
  assert.deepEqual(await names("restart", "other-2", ""), ["other-1", "other-2", "other-3"]);
  assert.deepEqual(await names("restart", "nonsense", ""), [""]);
  assert.deepEqual(await names("logs", "other", "--member", "other-2"), ["other-2"]);
});

test("completion offers the nodes that a recovery asks about, and without a plan those of the members", async () => {
  const cluster = demo();
  const member = { name: "demo-1", role: "Leader", healthy: true, node: "node-a" } as const;
  const recovery = {
    plan: "51f0a3c2d4e5b697",
    survivor: "demo-1",
    message: "",
    revision: { least: 1, most: 1 },
    members: [],
    nodesOff: [{ name: "node-b", members: ["demo-2", "demo-3"] }],
  };
  const offered = async (status: object) => {
    const target = new FakeTarget([{ ...cluster, status }]) as unknown as Target;
    const io = collectingIo({ target });
    const words = ["__complete", "--", "recover", "quorum", "demo", "--node-off", "node"];
    assert.equal(await dispatch(words, verbs, "1.0.0", io), 0);
    return io.out().trimEnd();
  };
  assert.equal(await offered({ recovery, members: [member] }), "node-b\tdemo-2, demo-3");
  assert.equal(await offered({ members: [member] }), "node-a\tdemo-1");
});

test("the flags of the target hold for completion too, and a home directory is one that the shell has not expanded", () => {
  const values = targetValues(["logs", "-n", "prod", "--kubeconfig", "~/prod.yaml", "-o", "json", ""], "/h");
  assert.equal(values.namespace, "prod");
  assert.equal(values.kubeconfig, "/h/prod.yaml");
});
