import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../engine/clock.ts";
import { SeededRandom } from "../engine/random.ts";
import { Scheduler } from "../engine/scheduler.ts";
import { ModelPki } from "./model-pki.ts";

const pki = () => new ModelPki(new VirtualClock(new Scheduler(new SeededRandom(1))));
const leaf = {
  commonName: "a",
  sans: { dns: ["a"], ips: [] },
  usages: ["serverAuth" as const],
  lifeMs: 1000,
};

test("a leaf names its issuer, never outlives it, and matches its own key only", async () => {
  const model = pki();
  const ca = await model.issueCa({ commonName: "ca", lifeMs: 500 });
  const other = await model.issueCa({ commonName: "other", lifeMs: 500 });
  const issued = await model.issueLeaf({ ca, leaf });
  assert.equal(issued.notAfter, ca.notAfter);
  const look = (trust: string, key: string) =>
    model.inspect({
      certificate: { text: issued.certificate, where: "a" },
      key: { text: key, where: "k" },
      trust: { text: trust, where: "t" },
    });
  assert.equal(look(ca.certificate, issued.key).issuedBy, ca.fingerprint);
  assert.equal(look(other.certificate, issued.key).issuedBy, undefined);
  assert.equal(look(ca.certificate, issued.key).keyMatches, true);
  assert.equal(look(ca.certificate, ca.key).keyMatches, false);
});

test("the same requests give the same certificates", async () => {
  const make = async () => (await pki().issueCa({ commonName: "ca", lifeMs: 500 })).certificate;
  assert.equal(await make(), await make());
});

test("what is no certificate is told by its place", () => {
  assert.throws(() => pki().inspect({ certificate: { text: "?", where: "here" } }), /^PkiError: here/);
});
