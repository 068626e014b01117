import assert from "node:assert/strict";
import { test } from "node:test";
import { admits } from "./network-policy.ts";

const at = (namespace: string, labels: Record<string, string> = {}) => ({ namespace, labels });
const policy = (ingress: readonly object[], podSelector: object = {}) => ({
  metadata: { namespace: "a" },
  spec: { podSelector, policyTypes: ["Ingress"], ingress },
});

test("a Pod that no policy selects takes every connection, one that some select takes what any allows", () => {
  const member = at("a", { app: "etcd" });
  assert.equal(admits([], member, at("b"), 1), true);
  assert.equal(admits([policy([], { matchLabels: { app: "other" } })], member, at("b"), 1), true);
  assert.equal(admits([policy([])], at("b"), at("b"), 1), true, "of another namespace");
  assert.equal(admits([policy([])], member, at("b"), 1), false);
  assert.equal(admits([policy([]), policy([{ ports: [{ port: 1 }] }])], member, at("b"), 1), true);
  assert.equal(admits([policy([{ ports: [{ port: 2 }] }])], member, at("b"), 1), false);
});

test("a peer is meant by its labels and its namespace, the policy's own unless one is named", () => {
  const from = (peer: object) => [policy([{ from: [peer], ports: [{ port: 1 }] }])];
  const web = { podSelector: { matchLabels: { app: "web" } } };
  assert.equal(admits(from(web), at("a"), at("a", { app: "web" }), 1), true);
  assert.equal(admits(from(web), at("a"), at("b", { app: "web" }), 1), false);
  const b = { namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "b" } } };
  assert.equal(admits(from(b), at("a"), at("b"), 1), true);
  assert.equal(admits(from({ ...b, ...web }), at("a"), at("b"), 1), false);
  assert.equal(admits(from({ ipBlock: { cidr: "192.0.2.0/24" } }), at("a"), at("a"), 1), false);
  const expressed = (operator: string, values?: string[]) =>
    from({ podSelector: { matchExpressions: [{ key: "app", operator, values }] } });
  const answers = [
    expressed("In", ["web"]),
    expressed("NotIn", ["web"]),
    expressed("Exists"),
    expressed("DoesNotExist"),
  ];
  assert.deepEqual(
    answers.map((one) => [
      admits(one, at("a"), at("a", { app: "web" }), 1),
      admits(one, at("a"), at("a"), 1),
    ]),
    [
      [true, false],
      [false, true],
      [true, false],
      [false, true],
    ],
  );
});
