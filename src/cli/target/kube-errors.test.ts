import assert from "node:assert/strict";
import { test } from "node:test";
import { KubeConfigError } from "../../kube/config.ts";
import { errorFromFailure, errorFromResponse } from "../../kube/errors.ts";
import { KubeFailure } from "../../seams/kube-transport.ts";
import { CommandError, EXIT } from "../exit.ts";
import { explained } from "./kube-errors.ts";

const attempt = { verb: "list", resource: "pods", namespace: "prod", server: "https://k8s:6443" } as const;

test("a plugin that gives no credentials is told in its own words, not as a server that does not answer", () => {
  const plugin = new KubeConfigError("plugin", "the credential plugin aws exited with code 1: not logged in");
  const failure = new KubeFailure("not-sent", "connection", plugin.message, { cause: plugin });
  const described = explained(errorFromFailure("GET /api", failure), attempt);
  assert.ok(described instanceof CommandError);
  assert.deepEqual([described.code, described.message], [EXIT.denied, plugin.message]);
});

test("a server that does not answer is named, with why", () => {
  const failure = new KubeFailure("not-sent", "connection", "connect ECONNREFUSED");
  const described = explained(errorFromFailure("GET /api", failure), attempt);
  assert.match(
    described.message,
    /the API server at https:\/\/k8s:6443 does not answer: connect ECONNREFUSED/,
  );
});

const forbidden = (message: string, details: object, verb: "create" | "update", resource = "pods") => {
  const body = { kind: "Status", reason: "Forbidden", message, details };
  const told = explained(errorFromResponse("POST /apis", { status: 403, body }), {
    ...attempt,
    verb,
    resource,
  });
  assert.ok(told instanceof CommandError);
  assert.equal(told.code, EXIT.denied);
  return told.message;
};

test("a right that is lacking is named with what the server said and the check of it", () => {
  const message = 'pods is forbidden: User "bob" cannot create resource "pods"';
  const told = forbidden(message, { kind: "pods" }, "create");
  assert.equal(
    told,
    `you may not create pods in namespace prod: ${message}. Ask for that right (check: kubectl auth can-i create pods -n prod)`,
  );
});

test("a right to a subresource is one too, although its path names an object", () => {
  const message = 'pods "demo-2" is forbidden: User "bob" cannot create resource "pods/portforward"';
  const told = forbidden(message, { kind: "pods", name: "demo-2" }, "create", "pods/portforward");
  assert.match(told, /^you may not create pods\/portforward in namespace prod: .* Ask for that right/);
});

test("what a policy or a quota rejects is told in the server's words, without the check of a right", () => {
  const policy = "ValidatingAdmissionPolicy 'quorate' denied request: it needs the verb destroy";
  const byPolicy = forbidden(
    policy,
    { kind: "pods", name: "demo", causes: [{ message: "it needs" }] },
    "update",
  );
  const webhook = 'admission webhook "tenants.corp" denied the request: no etcd on Fridays';
  const byWebhook = forbidden(webhook, {}, "update");
  const quota = 'pods "demo" is forbidden: exceeded quota: small';
  const byQuota = forbidden(quota, { name: "demo", kind: "pods" }, "create");
  for (const [told, said] of [
    [byPolicy, policy],
    [byWebhook, webhook],
    [byQuota, quota],
  ] as const)
    assert.equal(told, `the API server rejected this: ${said}`);
});
