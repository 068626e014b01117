/**
 * The model etcd of the simulator against real etcd with auth on: users and roles that come and go, tokens of both types that
 * are good and no longer good, certificates, one member and three that restart, what is permitted and what is not. What etcd refuses differs from minor to minor.
 */
import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, before, suite, test, type TestContext } from "node:test";
import { newestVersions } from "../support/etcd-versions.ts";
import { EVERY_CASE, sampledVersions } from "../support/sample.ts";
import { compareAuth } from "./auth.ts";

const CALLS = EVERY_CASE ? 3_000 : 200;
let folder: string;

before(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), "quorate-auth-"));
  const { publicKey, privateKey } = generateKeyPairSync("rsa", {
    modulusLength: 2048,
    publicKeyEncoding: { type: "spki", format: "pem" },
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
  });
  writeFileSync(path.join(folder, "public.pem"), publicKey);
  writeFileSync(path.join(folder, "private.pem"), privateKey);
});

after(() => rmSync(folder, { recursive: true, force: true }));

type How = Partial<Parameters<typeof compareAuth>[0]>;

async function agreesWith(version: string, t: TestContext, how: How = {}): Promise<void> {
  const found: string[] = [];
  const report = await compareAuth({
    version,
    seed: 7,
    calls: CALLS,
    callsPerRound: 100,
    ...how,
    onDifference: (text) => found.push(text),
  });
  t.diagnostic(JSON.stringify(report));
  assert.deepEqual(found, []);
  assert.ok(report.refused > CALLS / 5 && report.calls - report.refused > CALLS / 5, JSON.stringify(report));
}

suite("the model etcd and the real one with auth on", { concurrency: true }, () => {
  for (const version of newestVersions)
    test(`etcd ${version} permits and refuses what the model does, with tokens of type Simple`, (t) =>
      agreesWith(version, t));
  for (const version of sampledVersions)
    test(`etcd ${version} does with signed tokens, which end when users or roles change`, (t) => {
      const [own, other] = ["public.pem", "private.pem"].map((name) => path.join(folder, name));
      const authToken = `jwt,sign-method=RS256,pub-key=${own},priv-key=${other},ttl=5m`;
      return agreesWith(version, t, { authToken, byCertificate: true, restarts: 0.03 });
    });
  for (const version of newestVersions)
    test(`etcd ${version} takes the name of a certificate for a user, at each of three members, which restart`, (t) =>
      agreesWith(version, t, { members: 3, byCertificate: true, restarts: 0.04 }));
});
