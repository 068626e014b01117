import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock as clock } from "../seams/clock.ts";
import { systemRandom } from "../seams/random.ts";
import { createPki } from "./issue.ts";
import { CA_LIFE_MS } from "./plan.ts";
import { clientLeaf, findLeaf, readAuthority, renewLeaf } from "./renewal.ts";

const pki = createPki(clock, systemRandom);

async function authority() {
  const { certificate, key } = await pki.issueCa({ commonName: "demo client CA", lifeMs: CA_LIFE_MS });
  return readAuthority(pki, { text: certificate, where: "ca.crt" }, { text: key, where: "ca.key" });
}

test("what is absent is issued, then kept until 2/3 of its life, then issued anew", async () => {
  const ca = await authority();
  const leaf = clientLeaf("somebody");
  const trust = { text: ca.pair.certificate, where: "ca.crt" };
  const first = await renewLeaf(pki, { name: "a", leaf, found: { kind: "absent" }, ca, now: clock.now() });
  assert.ok(first.kind === "issued");
  const [certificate, key] = [first.pair.certificate, first.pair.key];
  const found = findLeaf(
    pki,
    { text: certificate, where: "tls.crt" },
    { text: key, where: "tls.key" },
    trust,
  );
  const kept = await renewLeaf(pki, { name: "a", leaf, found, ca, now: clock.now() });
  assert.ok(kept.kind === "kept" && kept.lookAgainAt < kept.notAfter);
  const renewed = await renewLeaf(pki, { name: "a", leaf, found, ca, now: kept.lookAgainAt + 1 });
  assert.ok(renewed.kind === "issued" && renewed.pair.certificate !== certificate);
});

test("what cannot be read is issued anew; without the CA's key that is reported", async () => {
  const { pair } = await authority();
  const ca = readAuthority(pki, { text: pair.certificate, where: "ca.crt" }, undefined);
  const found = findLeaf(pki, { text: "nonsense", where: "Secret demo-1 peer.pem" }, undefined, undefined);
  assert.ok(found.kind === "unreadable");
  const renewal = await renewLeaf(pki, {
    name: "demo-1",
    leaf: clientLeaf("x"),
    found,
    ca,
    now: clock.now(),
  });
  assert.ok(renewal.kind === "blocked");
  assert.match(renewal.message, /demo-1.*no matching private key/);
});
