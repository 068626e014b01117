import assert from "node:assert/strict";
import { test } from "node:test";
import { healthy } from "../../core/testing/cluster.ts";
import { bench, refusal } from "../../kube/testing.ts";
import type { KubeRequest, KubeResponse } from "../../seams/kube-transport.ts";
import { PlaceCheck } from "./place-check.ts";

const OK: KubeResponse = { status: 201, body: { metadata: { name: "demo-preflight" } } };
const rescued = {
  plan: "51f0a3c2d4e5b697",
  source: { pvc: { claimName: "data-demo-1", path: "recovery/51f0a3c2d4e5b697/snapshot.db" } },
  sha256: "ab",
  revision: 90,
};

function questions(answer: (request: KubeRequest) => KubeResponse) {
  const { client, server } = bench();
  const asked: KubeRequest[] = [];
  server.intercept = (request) => {
    asked.push(request);
    return answer(request);
  };
  let now = 0;
  const check = new PlaceCheck(client, () => now);
  const { cluster, platform } = healthy();
  const ask = async () => await check.verdict(cluster, rescued, platform.offers[0]?.address, "quorate:1");
  return { ask, asked, later: () => (now += 10_000) };
}

test("the claim and the Pod of the first new member are asked about, and neither is made", async () => {
  const { ask, asked } = questions(() => OK);
  assert.equal(await ask(), undefined);
  assert.deepEqual(
    asked.map(({ path, query }) => [path.split("/").at(-1), query?.["dryRun"]]),
    [
      ["persistentvolumeclaims", "All"],
      ["pods", "All"],
    ],
  );
  const containers = JSON.stringify(asked[1]?.body);
  assert.match(containers, /data-demo-1/, "it mounts the snapshot");
});

test("a quota is told by its own words, not asked about on every pass, and asked again after a while", async () => {
  let isFull = true;
  const { ask, asked, later } = questions(({ path }) =>
    isFull && path.endsWith("persistentvolumeclaims")
      ? refusal(403, "Forbidden", "exceeded quota: requests.storage")
      : OK,
  );
  assert.match((await ask()) ?? "", /^the PersistentVolumeClaim of the first new member: .*exceeded quota/);
  assert.ok(await ask());
  assert.equal(asked.length, 1);
  isFull = false;
  later();
  assert.equal(await ask(), undefined);
});
