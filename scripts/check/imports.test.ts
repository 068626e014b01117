import assert from "node:assert/strict";
import { test } from "node:test";
import { importDirections } from "./imports.ts";
import { memoryRepo } from "./repo.ts";

async function findings(path: string, text: string): Promise<string> {
  return (await importDirections.run(memoryRepo({ [path]: text }))).join("\n");
}

test("core may not import a module of Node's", async () => {
  const found = await findings("src/core/a.ts", `\nimport { readFileSync } from "node:fs";`);
  assert.match(found, /^src\/core\/a\.ts:2: src\/core is pure and may not import node:fs/);
});

test("core may not import a package", async () => {
  assert.match(await findings("src/core/a.ts", `import { z } from "zod";`), /may not import zod/);
});

test("core may import types of the resources, and only types", async () => {
  const path = "src/core/rules/a.ts";
  assert.equal(await findings(path, `import type { Spec } from "../../api/etcd-cluster.ts";`), "");
  assert.equal(await findings(path, `import { type Spec } from "../../api/etcd-cluster.ts";`), "");
  const found = await findings(path, `import { defaults } from "../../api/etcd-cluster.ts";`);
  assert.match(found, /may import only types from src\/api/);
});

test("core may import values of a resource's file that imports nothing itself", async () => {
  const user = `import { millisecondsOf } from "../api/duration.ts";`;
  const alone = memoryRepo({
    "src/core/a.ts": user,
    "src/api/duration.ts": "export const millisecondsOf = 1;",
  });
  assert.deepEqual(await importDirections.run(alone), []);
  const heavy = memoryRepo({ "src/core/a.ts": user, "src/api/duration.ts": `import { z } from "zod";` });
  assert.equal((await importDirections.run(heavy)).length, 1);
});

test("core may not import the seams, not even by a dynamic import or a re-export", async () => {
  for (const text of [
    `import type { Clock } from "../seams/clock.ts";`,
    `const clock = import("../seams/clock.ts");`,
    `export * from "../seams/clock.ts";`,
    `export { systemClock } from "../seams/clock.ts";`,
    `type Clock = import("../seams/clock.ts").Clock;`,
  ]) {
    assert.match(await findings("src/core/a.ts", text), /src\/core may not import src\/seams/, text);
  }
});

test("a test beside core may use its runner and packages for testing", async () => {
  const text = `import { test } from "node:test";\nimport fc from "fast-check";\nimport { a } from "./a.ts";`;
  assert.equal(await findings("src/core/a.test.ts", text), "");
});

test("who talks to the world does not know its callers", async () => {
  const found = await findings("src/etcd/client.ts", `import { observe } from "../operator/observe.ts";`);
  assert.match(found, /src\/etcd may not import src\/operator/);
  assert.match(
    await findings("src/kube/a.ts", `import { a } from "../etcd/a.ts";`),
    /may not import src\/etcd/,
  );
});

test("nothing in the product imports the simulator, the tests or the testbed", async () => {
  for (const target of ["sim", "test", "testbed"]) {
    const found = await findings("src/cli/a.ts", `import { a } from "../../${target}/a.ts";`);
    assert.match(found, new RegExp(`src/cli may not import ${target} `));
  }
});

test("a package or a module with a home is imported there and nowhere else", async () => {
  const text = `import { spawn } from "node:child_process";\nimport { readFile } from "node:fs/promises";`;
  const found = await findings("src/local/members.ts", text);
  assert.match(found, /:1: node:child_process may be imported only in src\/seams\//);
  assert.match(found, /:2: node:fs\/promises may be imported only in/);
  assert.equal(await findings("src/seams/processes.ts", text), "");
  assert.equal(await findings("src/local/members.test.ts", text), "");
  assert.equal(await findings("testbed/up.ts", text), "");
  assert.match(
    await findings("src/operator/a.ts", `import { z } from "zod";`),
    /zod may be imported only in src\/api\//,
  );
  assert.equal(await findings("src/operator/a.ts", `import type { z } from "zod";`), "");
});

test("what helps tests may do as tests do, and only tests import it", async () => {
  assert.equal(await findings("src/core/testing/cluster.ts", `import { z } from "zod";`), "");
  assert.match(
    await findings("src/core/a.ts", `import { fake } from "./testing/cluster.ts";`),
    /is for tests/,
  );
  assert.equal(await findings("src/core/a.test.ts", `import { fake } from "./testing/cluster.ts";`), "");
});

test("a folder without a line in the table is reported", async () => {
  assert.match(await findings("src/misc/a.ts", ""), /src\/misc has no line in the table/);
});

test("what the table allows passes", async () => {
  const text = `import { decide } from "../core/decide.ts";\nimport { connect } from "../etcd/client.ts";`;
  assert.equal(await findings("src/local/observe.ts", text), "");
});

test("a rule imports no other rule, nor what is built on rules", async () => {
  const path = "src/core/rules/a.ts";
  assert.match(
    await findings(path, `import { b } from "./b.ts";`),
    /src\/core\/rules\/ may not import src\/core\/rules\/b\.ts: a rule knows no other rule/,
  );
  assert.match(
    await findings(path, `import { decide } from "../decide.ts";`),
    /may not import src\/core\/decide/,
  );
  assert.match(
    await findings(path, `import { plan } from "../plan/plan.ts";`),
    /may not import src\/core\/plan/,
  );
  assert.equal(await findings(path, `import { size } from "../assess/size.ts";`), "");
  assert.equal(await findings("src/core/rules/a.test.ts", `import { b } from "./b.ts";`), "");
});

test("assess, messages and version do not know the rules", async () => {
  for (const folder of ["assess", "messages", "version"]) {
    const found = await findings(`src/core/${folder}/a.ts`, `import { b } from "../rules/b.ts";`);
    assert.match(found, new RegExp(`src/core/${folder}/ may not import src/core/rules/b`));
  }
});

test("objects are rendered and records parsed without calls", async () => {
  for (const folder of ["render", "records"]) {
    for (const target of [
      "../../kube/client.ts",
      "../../seams/clock.ts",
      "../apply/apply.ts",
      "../cache/stores.ts",
    ]) {
      const found = await findings(`src/operator/${folder}/a.ts`, `import { b } from "${target}";`);
      assert.match(found, new RegExp(`src/operator/${folder}/ may not import`), target);
    }
    assert.equal(await findings(`src/operator/${folder}/a.ts`, `import { b } from "../names.ts";`), "");
  }
  const seen = await findings(
    "src/operator/observe/a.ts",
    `import { KubeClient } from "../../kube/client.ts";`,
  );
  assert.match(seen, /calls nobody/);
});
