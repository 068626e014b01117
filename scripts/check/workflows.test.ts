import assert from "node:assert/strict";
import { test } from "node:test";
import { memoryRepo } from "./repo.ts";
import { workflows } from "./workflows.ts";

const commit = "a".repeat(40);
const workflow = (
  uses: string,
  rest = "permissions:\n  contents: read\n",
  limit = "    timeout-minutes: 5\n",
) =>
  memoryRepo({
    ".github/workflows/ci.yml": `${rest}jobs:\n  one:\n${limit}    steps:\n      - uses: ${uses}\n`,
  });

test("an action that is pinned by commit, with its version, in a job with a limit passes", () => {
  assert.deepEqual(workflows.run(workflow(`actions/checkout@${commit} # v7.0.1`)), []);
  assert.deepEqual(workflows.run(workflow("./.github/actions/own")), []);
});

test("an action by tag, branch or commit without its version is found, with its line", () => {
  for (const uses of ["actions/checkout@v7", "actions/checkout@main", `actions/checkout@${commit}`])
    assert.deepEqual(workflows.run(workflow(uses)), [
      ".github/workflows/ci.yml:7: pin the action: uses: owner/name@<commit> # v1.2.3",
    ]);
});

test("missing permissions and limits are found", () => {
  const uses = `actions/checkout@${commit} # v7.0.1`;
  assert.deepEqual(workflows.run(workflow(uses, "")), [
    ".github/workflows/ci.yml: state permissions: contents: read for all jobs",
  ]);
  assert.deepEqual(workflows.run(workflow(uses, undefined, "")), [
    ".github/workflows/ci.yml: job one has no timeout-minutes: add it",
  ]);
});
