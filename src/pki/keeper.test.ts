import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../seams/clock.ts";
import { systemRandom } from "../seams/random.ts";
import type { KeyPair, LeafSpec } from "../seams/pki.ts";
import { createPki } from "./issue.ts";
import { Keeper } from "./keeper.ts";
import { caOf, clientLeaf } from "./plan.ts";
import { managed } from "./source.ts";

const MINUTE = 60_000;
const wanted = clientLeaf("somebody");

async function world({ signing = true, recheckMs = Infinity } = {}) {
  const time = { at: systemClock.now(), now: () => time.at };
  const pki = createPki({ ...systemClock, now: time.now }, systemRandom);
  const { certificate, key } = await pki.issueCa(caOf("demo", "client"));
  const keeper = new Keeper(pki, time, { retryMs: MINUTE, recheckMs });
  const keyPem = signing ? { text: key, where: "ca.key" } : undefined;
  keeper.use("client", managed(pki, { text: certificate, where: "ca.crt" }, keyPem));
  return { keeper, time };
}

const placed = ({ certificate, key }: KeyPair) => ({
  certificate: { text: certificate, where: "tls.crt" },
  key: { text: key, where: "tls.key" },
});
const nowhere = { certificate: undefined, key: undefined };

test("what is absent is issued, then kept until 2/3 of its life, then issued anew", async () => {
  const { keeper, time } = await world();
  const first = await keeper.leaf("a", "client", wanted, nowhere);
  assert.ok(first.issued && first.pair);
  assert.equal(keeper.lookAgainAt, undefined, "nothing is due before it is in place");
  const kept = await keeper.leaf("a", "client", wanted, placed(first.pair));
  assert.deepEqual([kept.issued, kept.pair?.certificate], [undefined, first.pair.certificate]);
  const [due, end] = [keeper.lookAgainAt ?? 0, keeper.expiry(["a"]) ?? 0];
  assert.ok(due > time.at && due < end);
  time.at = due + 1;
  const renewed = await keeper.leaf("a", "client", wanted, placed(first.pair));
  assert.ok(renewed.issued && renewed.pair?.certificate !== first.pair.certificate);
  keeper.forget("a");
  assert.equal(keeper.expiry(["a"]), undefined);
});

test("another leaf than was asked for is judged at once", async () => {
  const { keeper } = await world();
  const { pair } = await keeper.leaf("a", "client", wanted, nowhere);
  assert.ok(pair);
  await keeper.leaf("a", "client", wanted, placed(pair));
  const named = { ...wanted, sans: { dns: ["a.example"], ips: [] } };
  assert.ok((await keeper.leaf("a", "client", named, placed(pair))).issued);
});

test("what cannot be read is issued anew; without the CA's key that is reported", async () => {
  const { keeper } = await world({ signing: false });
  const pem = { text: "nonsense", where: "Secret demo-1 peer.pem" };
  const leaf = await keeper.leaf("demo-1", "client", wanted, { certificate: pem, key: pem });
  assert.equal(leaf.pair, undefined);
  assert.match(leaf.problem ?? "", /demo-1.*no matching private key/);
  assert.deepEqual(keeper.problems, [{ key: "demo-1", message: leaf.problem }]);
});

test("without a source nothing is issued", async () => {
  const { keeper } = await world();
  assert.deepEqual(await keeper.leaf("a", "peer", wanted, nowhere), { problem: "no peer CA" });
});

test("what could not be written is not remembered; what was is looked at again after a while", async () => {
  const { keeper, time } = await world({ recheckMs: MINUTE });
  const full = { ...nowhere, write: () => Promise.reject(new Error("disk full")) };
  await assert.rejects(keeper.leaf("a", "client", wanted, full), /disk full/);
  assert.equal(keeper.checkedUntil("a"), undefined);
  await keeper.leaf("a", "client", wanted, { ...nowhere, write: () => Promise.resolve() });
  assert.equal(keeper.checkedUntil("a"), time.at + MINUTE);
});

test("what was given is kept, whichever of the CAs of servers and clients issued it", async () => {
  const pki = createPki(systemClock, systemRandom);
  const [servers, clients, strangers] = await Promise.all(
    ["servers", "clients", "strangers"].map((commonName) => pki.issueCa({ commonName, lifeMs: 99 * MINUTE })),
  );
  assert.ok(servers && clients && strangers);
  const keeper = new Keeper(pki, systemClock, { retryMs: MINUTE });
  const pem = ({ certificate }: KeyPair) => ({ text: certificate.trimEnd(), where: "ca.crt" });
  const why = { message: "none is given" };
  keeper.use("client", { kind: "keeps", trust: pem(servers), accepts: pem(clients), why });
  for (const [ca, isKept] of [
    [servers, true],
    [clients, true],
    [strangers, false],
  ] as const) {
    const leaf = await pki.issueLeaf({ ca, leaf: { ...wanted, lifeMs: MINUTE } });
    const { pair } = await keeper.leaf("a", "client", wanted, placed(leaf));
    assert.equal(pair !== undefined, isKept);
  }
});

test("what clients were given by a source before this one is no fault of it, unlike what members show", async () => {
  const pki = createPki(systemClock, systemRandom);
  const [ours, former] = await Promise.all(
    ["ours", "former"].map((commonName) => pki.issueCa({ commonName, lifeMs: 99 * MINUTE })),
  );
  assert.ok(ours && former);
  const trust = { text: ours.certificate, where: "ca.crt" };
  const keeper = new Keeper(pki, systemClock, { retryMs: MINUTE });
  keeper.use("client", { kind: "keeps", trust, accepts: trust, why: { message: "none is given" } });
  const reasonFor = async (spec: LeafSpec) => {
    const leaf = await pki.issueLeaf({ ca: former, leaf: { ...spec, lifeMs: MINUTE } });
    await keeper.leaf("a", "client", spec, placed(leaf));
    return keeper.problemOf("a")?.reason;
  };
  assert.equal(await reasonFor(wanted), undefined);
  const shown = { ...wanted, usages: ["serverAuth"], sans: { dns: ["demo"], ips: [] } } as const;
  assert.equal(await reasonFor(shown), "CertificateInvalid");
});

test("a certificate of members, with its key, is given to no client", async () => {
  const pki = createPki(systemClock, systemRandom);
  const ca = await pki.issueCa({ commonName: "both", lifeMs: 99 * MINUTE });
  const usages = ["serverAuth", "clientAuth"] as const;
  const shown = { ...wanted, usages, sans: { dns: ["demo"], ips: [] }, lifeMs: MINUTE };
  const { certificate, key } = await pki.issueLeaf({ ca, leaf: shown });
  const trust = { text: ca.certificate, where: "ca.crt" };
  const spare = () => ({ text: certificate + key, where: "Secret demo-1" });
  const keeper = new Keeper(pki, systemClock, { retryMs: MINUTE });
  keeper.use("client", { kind: "keeps", trust, accepts: trust, why: { message: "none is given" }, spare });
  const client = await keeper.leaf("quorate-user", "client", wanted, nowhere);
  assert.deepEqual([client.pair, client.problem], [undefined, "none is given"]);
  const member = await keeper.leaf("demo-2 client", "client", shown, nowhere);
  assert.equal(member.pair?.certificate, certificate + key);
});
