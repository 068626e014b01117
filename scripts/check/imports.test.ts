import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { directions, importDirections } from "./imports.ts";
import { within } from "./layers.ts";
import { memoryRepo, openRepo } from "./repo.ts";

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

test("core has the waits that grow from where everybody has them, and nothing else beside that", async () => {
  const user = `import { doubledMs } from "../seams/backoff.ts";`;
  const backoff = `import type { Random } from "./random.ts";\nexport const doubledMs = 1;`;
  const pure = memoryRepo({ "src/core/a.ts": user, "src/seams/backoff.ts": backoff });
  assert.deepEqual(await importDirections.run(pure, () => undefined), []);
  const tied = memoryRepo({
    "src/core/a.ts": user,
    "src/seams/backoff.ts": `import { sleep } from "./clock.ts";`,
  });
  assert.match((await importDirections.run(tied, () => undefined)).join(), /values of files without imports/);
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

test("assess, messages, operations and others do not know the rules", async () => {
  for (const folder of ["assess", "messages", "version", "operations", "snapshots", "auth"]) {
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

test("the status asks no rule but those that its conditions must not contradict", async () => {
  const from = async (rule: string) =>
    await findings("src/core/status/a.ts", `import { b } from "../rules/${rule}.ts";`);
  assert.equal(await from("quorum-lost"), "");
  assert.match(await from("rollout"), /src\/core\/status\/ may not import src\/core\/rules\/rollout/);
});

test("within the operator and the simulator, what is below does not know what is above", async () => {
  for (const [path, target] of [
    ["src/operator/cache/a.ts", "../status/a.ts"],
    ["src/operator/apply/a.ts", "../recovery/a.ts"],
    ["src/operator/reach/a.ts", "../apply/a.ts"],
    ["src/operator/process/a.ts", "../cache/a.ts"],
    ["src/operator/serve/a.ts", "../observe/a.ts"],
    ["src/operator/dependents/a.ts", "../runtime.ts"],
    ["src/core/config/a.ts", "../template/a.ts"],
    ["sim/engine/a.ts", "../models/a.ts"],
    ["sim/models/kube/a.ts", "../../operator/a.ts"],
    ["sim/rules/a.ts", "../machine/a.ts"],
  ] as const)
    assert.match(await findings(path, `import { b } from "${target}";`), /may not import/, path);
  assert.equal(await findings("src/operator/recovery/a.ts", `import { b } from "../apply/a.ts";`), "");
  assert.equal(await findings("sim/operator/a.ts", `import { b } from "../models/a.ts";`), "");
});

test("the tables name nothing that is not there", () => {
  const { files } = openRepo(fileURLToPath(new URL("../..", import.meta.url)));
  const named = [
    ...Object.entries(directions).flat(2),
    ...within.flatMap(({ of, not, except = [] }) => [of, ...not, ...except]),
  ];
  const isThere = (path: string) =>
    files.includes(path) || files.some((file) => file.startsWith(path.endsWith("/") ? path : `${path}/`));
  assert.deepEqual(
    named.filter((path) => !isThere(path)),
    [],
  );
});
