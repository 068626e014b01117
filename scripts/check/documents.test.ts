import assert from "node:assert/strict";
import { test } from "node:test";
import { documents } from "./documents.ts";
import { memoryRepo } from "./repo.ts";

const others = {
  "package.json": `{"scripts":{"bench":"x","check":"x"}}`,
  "docs/a.md": "# One page\n\n## Figures, and more\n",
  "test/heal.test.ts": "",
  "test/bench/heal.bench.ts": "",
};

async function found(text: string, path = "README.md"): Promise<string> {
  return (await documents.run(memoryRepo({ ...others, [path]: text }))).join("\n");
}

test("a link to a page or a heading that is not there is found with its line", async () => {
  assert.equal(
    await found("[a](docs/a.md) [b](docs/a.md#figures-and-more) [c](docs) [d](https://e.f/g)"),
    "",
  );
  assert.match(await found("x\n[a](docs/b.md)"), /^README\.md:2: docs\/b\.md is not there$/);
  assert.match(await found("[a](docs/a.md#figure)"), /docs\/a\.md has no heading #figure$/);
  assert.match(await found("[up](../nowhere.md)", "docs/c.md"), /^docs\/c\.md:1: /);
  assert.equal(await found("```\n[a](b)\n```"), "");
});

test("a command that package.json does not have is found", async () => {
  assert.equal(await found("`npm run check`, `npm test`"), "");
  assert.match(await found("`npm run chekc`"), /npm run chekc: package\.json has no such script/);
});

test("a source or a folder that is not there any more is found, also under a part of its path", async () => {
  const recipe = "1. `test/heal.test.ts`, `heal.test.ts`, its folder `test/bench/`, and `test/<name>.ts`";
  assert.equal(await found(recipe, "CONTRIBUTING.md"), "");
  assert.equal(await found("`/etc/etcd/` has `config.yaml` and `credentials.json`", "docs/c.md"), "");
  assert.match(
    await found("1. a rule\n2. `test/gone.test.ts`", "CONTRIBUTING.md"),
    /^CONTRIBUTING\.md:2: test\/gone\.test\.ts is not there$/,
  );
  assert.match(await found("`gone.ts`"), /gone\.ts is not there/);
  assert.match(await found("`test/crash/`"), /test\/crash\/ is not there/);
  assert.equal(await found("`test/gone.test.ts`", "CHANGELOG.md"), "");
});

test("a cluster in an example is validated; parts of one are not", async () => {
  const cluster = (version: string) =>
    `\`\`\`yaml\napiVersion: etcd.quorate.dev/v1alpha1\nkind: EtcdCluster\nmetadata: {name: a}\nspec: {version: ${version}}\n\`\`\`\n`;
  assert.equal(await found(cluster("3.6.16")), "");
  assert.match(await found(cluster("3.4")), /^README\.md:1: spec\.version: /);
  assert.equal(await found("```yaml\nspec: {nothing: 1}\n```\n"), "");
});

test("each reason of the README names what measures it, and that exists", async () => {
  const why = (by: string) => `# Q\n\n## Why\n\n- **Quick.** In 3 s.${by}\n\n## More\n\n- a list\n`;
  assert.equal(await found(why(" <!-- test/heal.test.ts, npm run bench -- heal -->")), "");
  assert.match(await found(why("")), /"Quick\." names no test or benchmark/);
  assert.match(
    await found(why(" <!-- test/gone.test.ts -->")),
    /names test\/gone\.test\.ts, which is not there/,
  );
  assert.match(await found(why(" <!-- npm run bench -- gone -->")), /names npm run bench -- gone/);
});
