import assert from "node:assert/strict";
import { test } from "node:test";
import { labels } from "./labels.ts";
import { memoryRepo } from "./repo.ts";

async function findings(path: string, text: string): Promise<string> {
  return (await labels.run(memoryRepo({ [path]: text }))).join("\n");
}

test("a label in a string of the product is found, with its line", async () => {
  const path = "src/cli/local/kill.ts";
  assert.match(
    await findings(path, `\nconst said = "not now (I4)";`),
    /^src\/cli\/local\/kill\.ts:2: the internal label "I4"/,
  );
  assert.match(await findings(path, "const said = `${name} waits (R19)`;"), /"R19"/);
  assert.match(await findings("src/operator/serve/metrics-table.ts", `help("H3")`), /"H3"/);
});

test("comments, tests and generated code may cite labels", async () => {
  assert.equal(await findings("src/core/a.ts", `// R19: wait\nconst a = 1; /* H3 */`), "");
  assert.equal(await findings("src/core/a.test.ts", `test("I4", () => {});`), "");
  assert.equal(await findings("src/core/testing/a.ts", `const a = "I4";`), "");
  assert.equal(await findings("src/etcd/proto/rpc_pb.ts", `const a = "I4";`), "");
  assert.equal(await findings("sim/oracles/oracle.ts", `const a = "I4";`), "");
});

test("what only looks like a label passes", async () => {
  assert.equal(await findings("src/core/a.ts", `const a = ["SHA256", "HTTP2", "R2D2", "I100", "UTF8"];`), "");
});

test("a label in what users read is found: README, pages, resource definitions", async () => {
  for (const path of [
    "README.md",
    "CHANGELOG.md",
    "docs/kubernetes.md",
    "docs/reference/etcdcluster.md",
    "docs/healing.svg",
    "config/crd/etcd.quorate.dev_etcdclusters.yaml",
    "config/samples/three-members.yaml",
    "charts/quorate/values.yaml",
    "charts/quorate/templates/NOTES.txt",
  ]) {
    assert.match(await findings(path, "one\nsafe (H6)"), /:2: the internal label "H6"/, path);
  }
});

test("developers' pages may cite labels", async () => {
  for (const path of ["docs/rules.md", "docs/proof.md", "CONTRIBUTING.md", "sim/README.md"]) {
    assert.equal(await findings(path, "R19"), "", path);
  }
});
