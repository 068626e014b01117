import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "kubernetes-types/core/v1.d.ts";
import { containerCommand, expand, fieldValue, quantity, resourceValue } from "./environment.ts";
import { parseReference } from "./images.ts";
import { ownAddress } from "./loopback.ts";

const image = { id: "", mounts: {}, entrypoint: ["/entry"], cmd: ["default"], env: {} };

test("$(NAME) is expanded, $$(NAME) is not, and unknown names stay", () => {
  const env = { A: "1", B: "two" };
  assert.equal(expand("$(A)-$(B)-$(C)", env), "1-two-$(C)");
  assert.equal(expand("$$(A)", env), "$(A)");
  assert.equal(expand("$A $(A", env), "$A $(A");
});

test("command and args take the place of the image's entrypoint and command", () => {
  const c = (rest: object) => containerCommand({ name: "c", ...rest }, image, {}, "127.64.1.10");
  assert.deepEqual(c({}), ["/entry", "default"]);
  assert.deepEqual(c({ args: ["x"] }), ["/entry", "x"]);
  assert.deepEqual(c({ command: ["/own"] }), ["/own"]);
  assert.deepEqual(c({ command: ["/own"], args: ["x"] }), ["/own", "x"]);
});

test("what means this Pod in a network of its own becomes the Pod's address", () => {
  const own = (text: string) => ownAddress(text, "127.64.1.10");
  assert.equal(
    own("http://0.0.0.0:2379,http://127.0.0.1:2379"),
    "http://127.64.1.10:2379,http://127.64.1.10:2379",
  );
  assert.equal(own("listen: https://[::]:2380"), "listen: https://127.64.1.10:2380");
  assert.equal(own("http://127.64.1.11:2379"), "http://127.64.1.11:2379");
  assert.equal(own("10.0.0.0.0:1 version 0.0.0.0"), "10.0.0.0.0:1 version 0.0.0.0");
});

test("the downward API gives labels one by one and all together", () => {
  const pod: Pod = { metadata: { name: "p", labels: { b: 'say "hi"', a: "1" } }, spec: { containers: [] } };
  const ips = { podIP: "127.64.1.10", hostIP: "127.64.1.1" };
  assert.equal(fieldValue(pod, "metadata.labels['a']", ips), "1");
  assert.equal(fieldValue(pod, "metadata.labels", ips), 'a="1"\nb="say \\"hi\\""');
  assert.equal(fieldValue(pod, "status.podIP", ips), "127.64.1.10");
  assert.throws(() => fieldValue(pod, "status.nothing", ips), /no field/);
});

test("quantities and divisors are understood", () => {
  assert.equal(quantity("1Gi"), 2 ** 30);
  assert.equal(quantity("250m"), 0.25);
  const container = { name: "c", resources: { limits: { memory: "512Mi", cpu: "250m" } } };
  assert.equal(resourceValue(container, "limits.memory", "1Mi"), "512");
  assert.equal(resourceValue(container, "limits.cpu", "1"), "1");
});

test("a tag is told from a registry's port", () => {
  assert.deepEqual(parseReference("host:5000/etcd"), { repository: "host:5000/etcd", tag: "latest" });
  assert.deepEqual(parseReference("host:5000/a/etcd:v3.6.16@sha256:00"), {
    repository: "host:5000/a/etcd",
    tag: "v3.6.16",
  });
});
