import assert from "node:assert/strict";
import { test } from "node:test";
import type { Secret } from "kubernetes-types/core/v1.d.ts";
import { bench } from "../../kube/testing.ts";
import { GivenSecrets } from "./given-secrets.ts";

/** A Secret `web` that is read, and the one that the cache has of it. */
function world() {
  const { client, clock, server } = bench();
  let version = 1;
  let times = 0;
  const now = (): Secret => ({
    metadata: { name: "web", namespace: "default", resourceVersion: String(version) },
  });
  server.intercept = () => {
    times++;
    return { status: 200, body: { metadata: { resourceVersion: "1" }, items: [now()] } };
  };
  const given = new GivenSecrets(client, clock);
  const read = async (known: Secret | undefined) =>
    (await given.read("default", "web", known))?.metadata?.resourceVersion;
  return { read, now, clock, change: () => void version++, times: () => times };
}

test("a given Secret whose label goes away is read again, at once and after a while", async () => {
  const { read, now, clock, change } = world();
  assert.equal(await read(now()), "1");
  change();
  assert.equal(await read(undefined), "2", "the change that took the label away");
  change();
  assert.equal(await read(undefined), "2");
  await clock.advance(30_000);
  assert.equal(await read(undefined), "3");
});

test("a given Secret that has the label is read again when it changed, and only then", async () => {
  const { read, now, clock, change, times } = world();
  const known = now();
  await read(known);
  await clock.advance(3_600_000);
  assert.equal(await read(known), "1");
  assert.equal(times(), 1);
  change();
  assert.equal(await read(now()), "2");
});
