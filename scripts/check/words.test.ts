import assert from "node:assert/strict";
import { test } from "node:test";
import { memoryRepo } from "./repo.ts";
import { words } from "./words.ts";

async function findings(path: string, text: string): Promise<string> {
  return (await words.run(memoryRepo({ [path]: text }))).join("\n");
}

test("an avoided phrase in a string of the product is found, with its line and what is better", async () => {
  assert.equal(
    await findings("src/cli/local/kill.ts", `\nconst said = "etcd admits nobody";`),
    'src/cli/local/kill.ts:2: "nobody" stands in text for users; better: name what is meant: "no client", "no member", "no user"',
  );
  assert.match(
    await findings("src/core/a.ts", "const a = `first\n${name} is\n  told`;"),
    /^[^ ]+:2: "is told"/,
  );
  assert.match(await findings("src/snapshot/a.ts", `fail("Somebody holds a lease")`), /"another client"/);
});

test("so it is in what users read: README, pages, resource definitions, the chart", async () => {
  for (const path of [
    "README.md",
    "CHANGELOG.md",
    "docs/rules.md",
    "docs/reference/etcdcluster.md",
    "config/crd/etcd.quorate.dev_etcdclusters.yaml",
    "charts/quorate/values.yaml",
  ])
    assert.match(await findings(path, "one\nthe newcomer waits"), /:2: "newcomer" .*"new member"/, path);
  assert.match(await findings("docs/a.md", "`a long name`\nwhat became\nof it"), /:2: "became of"/);
});

test("comments, tests, imports and names in code are free, and so is what is released", async () => {
  assert.equal(await findings("src/core/a.ts", `// nobody\nimport { a } from "./newcomer.ts";`), "");
  assert.equal(await findings("src/core/a.test.ts", `test("nobody waits", () => {});`), "");
  assert.equal(await findings("docs/tenants.md", "runs as `nobody`; reason AuthorityNeedsNewcomers"), "");
  assert.equal(await findings("CHANGELOG.md", "## [Unreleased]\n## [0.1.0]\nnobody"), "");
  assert.match(await findings("CHANGELOG.md", "## [Unreleased]\nnobody\n## [0.1.0]"), /:2: "nobody"/);
});

test("what only looks like one of them passes", async () => {
  const text =
    "the operator tells etcd; a renewed lease; byte 3 now; the rest goes one by one; become offline; Go on PATH";
  assert.equal(await findings("docs/a.md", text), "");
});
