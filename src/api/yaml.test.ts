import assert from "node:assert/strict";
import { test } from "node:test";
import { parseClusterYaml } from "./yaml.ts";
import { etcdClusters } from "./resources.ts";

function errorsOf(text: string): string[] {
  const result = parseClusterYaml(text);
  return result.ok ? [] : result.errors.map(({ line, path, message }) => `${line}: ${path}: ${message}`);
}

const HEAD = `apiVersion: etcd.quorate.dev/v1alpha1
kind: EtcdCluster
metadata:
  name: demo
`;

test("the example of the reference page is valid", () => {
  const result = parseClusterYaml(etcdClusters.example);
  assert.ok(result.ok, JSON.stringify(result));
  assert.equal(result.cluster.spec.options.quotaBackendBytes, "8Gi");
});

test("broken YAML is reported with its line", () => {
  const [error] = errorsOf(`${HEAD}spec:\n  version: "3.6.14\n`);
  assert.match(error ?? "", /^[67]: : not valid YAML: /);
});

test("a key given twice is reported with its line", () => {
  assert.deepEqual(errorsOf(`${HEAD}spec:\n  version: 3.6.14\n  replicas: 1\n  replicas: 3\n`), [
    "8: : not valid YAML: Map keys must be unique",
  ]);
});

test("a wrong field is reported with its line", () => {
  assert.deepEqual(
    errorsOf(
      `${HEAD}spec:\n  version: 3.6.14\n  tls:\n    extraSANs:\n      - ok.example.com\n      - "not ok"\n`,
    ),
    [
      "10: spec.tls.extraSANs[1]: must be a lower-case DNS name (a leading '*.' is allowed) or an IP address, without scheme and port",
    ],
  );
  assert.deepEqual(errorsOf(`${HEAD}spec:\n  version: 3.6.14\n  replcas: 3\n`), [
    '7: spec.replcas: unknown field "spec.replcas": did you mean "replicas"?',
  ]);
});

test("a missing field is reported with the line of its parent", () => {
  assert.deepEqual(errorsOf(`${HEAD}spec:\n  replicas: 3\n`), ["5: spec.version: Required value"]);
});

test("an unquoted version with two numbers is read as a number, and the message says what it must be", () => {
  assert.deepEqual(errorsOf(`${HEAD}spec:\n  version: 3.6\n`), [
    '6: spec.version: must be of type string: "number"',
  ]);
});

test("an empty file and a file with several documents are refused", () => {
  assert.deepEqual(errorsOf("# nothing\n"), [
    "undefined: : the file is empty: it should hold one EtcdCluster",
  ]);
  assert.deepEqual(errorsOf(`${HEAD}spec: {version: 3.6.14}\n---\n${HEAD}spec: {version: 3.6.14}\n`), [
    "7: : the file holds several documents: it should hold one EtcdCluster",
  ]);
});

test("a document marker at the start and at the end is no second document", () => {
  assert.ok(parseClusterYaml(`---\n${HEAD}spec: {version: 3.6.14}\n---\n`).ok);
});
