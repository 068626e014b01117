import assert from "node:assert/strict";
import { test } from "node:test";
import { KubeConfigError } from "../../kube/config.ts";
import { errorFromFailure } from "../../kube/errors.ts";
import { KubeFailure } from "../../seams/kube-transport.ts";
import { CommandError, EXIT } from "../exit.ts";
import { explained } from "./kube-errors.ts";

const attempt = { verb: "list", resource: "pods", namespace: "prod", server: "https://k8s:6443" } as const;

test("a plugin that gives no credentials is told in its own words, not as a server that does not answer", () => {
  const plugin = new KubeConfigError("plugin", "the credential plugin aws exited with code 1: not logged in");
  const failure = new KubeFailure("not-sent", "connection", plugin.message, { cause: plugin });
  const told = explained(errorFromFailure("GET /api", failure), attempt);
  assert.ok(told instanceof CommandError);
  assert.deepEqual([told.code, told.message], [EXIT.denied, plugin.message]);
});

test("a server that does not answer is named, with why", () => {
  const failure = new KubeFailure("not-sent", "connection", "connect ECONNREFUSED");
  const told = explained(errorFromFailure("GET /api", failure), attempt);
  assert.match(told.message, /the API server at https:\/\/k8s:6443 does not answer: connect ECONNREFUSED/);
});
