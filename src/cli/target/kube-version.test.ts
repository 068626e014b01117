import assert from "node:assert/strict";
import { test } from "node:test";
import type { Deployment } from "kubernetes-types/apps/v1.d.ts";
import { operatorOf } from "./kube-version.ts";

const deployment = (...images: string[]): Deployment => ({
  spec: {
    selector: {},
    template: { spec: { containers: images.map((image, index) => ({ name: `c${index}`, image })) } },
  },
});

test("the operator's version is that of its image, whatever the registry and the digest", () => {
  for (const image of [
    "quorate:1.2.3",
    "registry.corp:5000/etcd/quorate:v1.2.3",
    `registry.corp:5000/quorate:1.2.3@sha256:${"0".repeat(64)}`,
  ])
    assert.deepEqual(operatorOf([deployment(image)]), { version: "1.2.3" }, image);
  assert.deepEqual(operatorOf([deployment("proxy:latest", "quorate:1.2.3-rc.1")]), { version: "1.2.3-rc.1" });
});

test("of an image that is pinned by its digest alone, the image is told", () => {
  const image = `registry.corp:5000/quorate@sha256:${"0".repeat(64)}`;
  assert.deepEqual(operatorOf([deployment(image)]), { image });
});

test("without a Deployment there is nothing to tell", () => {
  assert.equal(operatorOf([]), undefined);
});
