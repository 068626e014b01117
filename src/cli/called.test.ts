import assert from "node:assert/strict";
import { test } from "node:test";
import { calledAs } from "./called.ts";

const cases: readonly [program: string, env: Record<string, string>, command: string][] = [
  ["/usr/local/bin/quorate", {}, "quorate"],
  ["/opt/quorate.mjs", {}, "quorate"],
  ["/usr/local/bin/kubectl-etcd", {}, "kubectl etcd"],
  ["/opt/krew/bin/kubectl-etcd.mjs", {}, "kubectl etcd"],
  ["/src/cli/main.ts", {}, "quorate"],
  ["/src/cli/main.ts", { npm_lifecycle_event: "quorate" }, "npm run quorate --"],
  ["/src/cli/main.ts", { npm_lifecycle_event: "start" }, "npm run quorate --"],
  ["/src/cli/main.ts", { npm_lifecycle_event: "test" }, "quorate"],
  ["/usr/local/bin/kubectl-etcd", { npm_lifecycle_event: "quorate" }, "kubectl etcd"],
  ["/opt/npm/_npx/1/node_modules/.bin/quorate", { npm_lifecycle_event: "npx" }, "npx quorate"],
  ["/usr/bin/quorate", { npm_lifecycle_event: "start" }, "quorate"],
];

for (const [program, env, command] of cases) {
  test(`${program} ${JSON.stringify(env)} is called ${command}`, () => {
    assert.equal(calledAs({ programs: ["node", program], env }), command);
  });
}

test("a launcher that starts another Node passes on by which name it was called", () => {
  const programs = ["kubectl-etcd", "/opt/quorate/dist/quorate.mjs"];
  assert.equal(calledAs({ programs, env: {} }), "kubectl etcd");
});
