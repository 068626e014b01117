import assert from "node:assert/strict";
import { test } from "node:test";
import { specOf } from "../../core/testing/cluster.ts";
import { ANNOTATIONS } from "../names.ts";
import { imageNote, withRepository } from "./image-repository.ts";

const MIRROR = "registry.example.com:5000/mirror/etcd";
const spec = specOf({ version: "3.6.16" });
const repository = (image?: string, own?: string, ofOperator = MIRROR) =>
  withRepository(
    {
      metadata: { annotations: { ...(image && { [ANNOTATIONS.image]: image }) } },
      spec: { image: { ...(own && { repository: own }) } },
    },
    own ? { ...spec, image: { ...spec.image, repository: own } } : spec,
    ofOperator,
  ).image.repository;

test("a cluster that names no repository uses the operator's, and one that does its own", () => {
  assert.equal(repository(), MIRROR);
  assert.equal(repository(undefined, "quay.io/coreos/etcd"), "quay.io/coreos/etcd");
  assert.equal(repository(`${MIRROR}:v3.6.16`, "quay.io/coreos/etcd"), "quay.io/coreos/etcd");
});

test("an operator with another repository changes it only together with the version", () => {
  assert.equal(repository("old.example.com/etcd:v3.6.16"), "old.example.com/etcd");
  assert.equal(repository("old.example.com/etcd:v3.6.14"), MIRROR);
  const noted = imageNote({ ...spec, image: { ...spec.image, repository: MIRROR } });
  assert.equal(noted, `${MIRROR}:v3.6.16`);
  assert.equal(repository(noted, undefined, "new.example.com/etcd"), MIRROR);
});

test("a note that is no image is no repository", () => {
  for (const note of ["", "etcd", ":v3.6.16", "Not An Image:v3.6.16"])
    assert.equal(repository(note), MIRROR, note);
});
