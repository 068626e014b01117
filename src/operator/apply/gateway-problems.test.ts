import assert from "node:assert/strict";
import { test } from "node:test";
import { GatewayProblems } from "./gateway-problems.ts";

function keeper() {
  const [reported, forgotten]: [string[], string[]] = [[], []];
  return {
    reported,
    forgotten,
    report: (of: string, problem: unknown) => void reported.push(`${of}: ${String(problem)}`),
    forget: (name: string) => void forgotten.push(name),
  };
}

test("what gateways lack is a warning once, and no problem of the certificates", () => {
  const [problems, kept] = [new GatewayProblems(), keeper()];
  for (const member of ["demo-1", "demo-2"])
    problems.take(kept, member, `${member} gateway`, "common name required");
  assert.deepEqual(problems.warnings, [
    "etcd's HTTP gateway may not reach its member, all else works: common name required",
  ]);
  assert.deepEqual(kept.reported, ["demo-1 gateway: undefined", "demo-2 gateway: undefined"]);
});

test("it ends when there is a certificate, and when none is used any more", () => {
  const [problems, kept] = [new GatewayProblems(), keeper()];
  problems.take(kept, "demo-1", "demo-1 gateway", "pending");
  problems.take(kept, "demo-1", "demo-1 gateway", undefined);
  assert.deepEqual(problems.warnings, []);
  problems.take(kept, "demo-2", "demo-2 gateway", "pending");
  problems.forget(kept, "demo-2");
  assert.deepEqual(problems.warnings, []);
  assert.deepEqual(kept.forgotten, ["demo-2 gateway"]);
});
