import assert from "node:assert/strict";
import { test } from "node:test";
import { judgeKubernetes, SUPPORTED_KUBERNETES } from "./kubernetes-version.ts";

test("versions within the range are supported, whatever the vendor adds to their names", () => {
  for (const version of [`v${SUPPORTED_KUBERNETES.oldest}.0`, "v1.32.9-eks-113cf36", "v1.33.1+k3s1"])
    assert.equal(judgeKubernetes(version).verdict, "supported", version);
});

test("an older server is refused with what to do, a newer one is only remarked on", () => {
  const old = judgeKubernetes("v1.30.14");
  assert.equal(old.verdict, "unsupported");
  assert.match("message" in old ? old.message : "", /v1\.30\.14.*1\.31 to 1\.36.*upgrade/);
  assert.equal(judgeKubernetes("v1.9.3").verdict, "unsupported");
  assert.equal(judgeKubernetes("v1.99.0").verdict, "untested");
  assert.equal(judgeKubernetes("v2.0.0").verdict, "untested");
  assert.equal(judgeKubernetes("").verdict, "untested");
});
