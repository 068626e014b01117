import assert from "node:assert/strict";
import { webcrypto, X509Certificate } from "node:crypto";
import { test } from "node:test";
import type { Clock } from "../seams/clock.ts";
import { PkiError } from "../seams/pki.ts";
import type { IssuedCertificate, LeafSpec } from "../seams/pki.ts";
import { splitBundle, trustBundle } from "./bundle.ts";
import { inspect } from "./inspect.ts";
import { createPki } from "./issue.ts";
import { CA_LIFE_MS, gatewayLeaf, LEAF_LIFE_MS, USAGES } from "./plan.ts";

const NOW = Date.UTC(2030, 5, 1, 12, 0, 0, 250);
const clock: Clock = {
  now: () => NOW,
  monotonic: () => 0,
  timer: () => assert.fail("issuing does not wait"),
};
let drawn = 0;
const pki = createPki(clock, { bytes: (length) => new Uint8Array(length).fill(++drawn) });

const spec: LeafSpec = {
  commonName: "c-0",
  sans: { dns: ["localhost", "*.c.ns.svc"], ips: ["127.0.0.1", "::1", "2001:db8::10"] },
  usages: USAGES.serverWithGateway,
  lifeMs: LEAF_LIFE_MS,
};

const newCa = (commonName = "c client CA") => pki.issueCa({ commonName, lifeMs: CA_LIFE_MS });
const pem = (text: string, where = "a file") => ({ text, where });

function read(issued: IssuedCertificate, ...trust: IssuedCertificate[]) {
  return inspect({
    certificate: pem(issued.certificate),
    key: pem(issued.key),
    ...(trust.length > 0 && { trust: pem(trustBundle(trust.map((ca) => ca.certificate))) }),
  });
}

test("a CA signs itself, lives ten years and says that it is a CA", async () => {
  const ca = await newCa();
  const facts = read(ca, ca);
  assert.deepEqual(facts, {
    commonName: "c client CA",
    sans: { dns: [], ips: [] },
    usages: [],
    isCa: true,
    serial: ca.serial,
    fingerprint: ca.fingerprint,
    notBefore: Date.UTC(2030, 5, 1, 11),
    notAfter: Date.UTC(2040, 4, 29, 12, 0, 1),
    issuedBy: ca.fingerprint,
    issuerEnds: ca.notAfter,
    keyMatches: true,
  });
});

test("a leaf without a common name can be a client's only, and names nobody", async () => {
  const ca = await newCa();
  const leaf = await pki.issueLeaf({ ca, leaf: gatewayLeaf() });
  assert.equal(read(leaf, ca).commonName, undefined);
  assert.equal(new X509Certificate(leaf.certificate).subject, "O=etcd gateway");
  await assert.rejects(pki.issueLeaf({ ca, leaf: { ...spec, commonName: "" } }), /leaf\.commonName/);
});

test("a leaf chains to its CA and carries the names, usages and life asked for", async () => {
  const ca = await newCa();
  const leaf = await pki.issueLeaf({ ca, leaf: spec });
  const [parsed, authority] = [new X509Certificate(leaf.certificate), new X509Certificate(ca.certificate)];
  assert.ok(parsed.checkIssued(authority));
  assert.ok(parsed.verify(authority.publicKey));
  assert.equal(parsed.checkHost("c-7.c.ns.svc"), "*.c.ns.svc");
  assert.equal(parsed.checkIP("2001:db8::10"), "2001:db8::10");
  assert.equal(parsed.checkHost("elsewhere.example"), undefined);
  assert.deepEqual(read(leaf, ca), {
    commonName: "c-0",
    sans: { dns: ["*.c.ns.svc", "localhost"], ips: ["127.0.0.1", "2001:db8::10", "::1"] },
    usages: ["serverAuth", "clientAuth"],
    isCa: false,
    serial: leaf.serial,
    fingerprint: leaf.fingerprint,
    notBefore: Date.UTC(2030, 5, 1, 11),
    notAfter: Date.UTC(2030, 7, 30, 12, 0, 1),
    issuedBy: ca.fingerprint,
    issuerEnds: ca.notAfter,
    keyMatches: true,
  });
});

test("R44: a client leaf is for clients only and needs no names", async () => {
  const ca = await newCa();
  const leaf = await pki.issueLeaf({
    ca,
    leaf: { commonName: "root", sans: { dns: [], ips: [] }, usages: USAGES.client, lifeMs: LEAF_LIFE_MS },
  });
  const facts = read(leaf, ca);
  assert.deepEqual([facts.commonName, facts.usages, facts.sans.dns], ["root", ["clientAuth"], []]);
});

test("serial numbers are drawn from the given randomness, positive and never repeated by a new draw", async () => {
  const ca = await newCa();
  assert.equal(ca.serial, Buffer.from([0x40 | drawn, ...Array<number>(15).fill(drawn)]).toString("hex"));
  assert.notEqual((await newCa()).serial, ca.serial);
});

test("every certificate has its own key", async () => {
  const ca = await newCa();
  const [one, two] = [await pki.issueLeaf({ ca, leaf: spec }), await pki.issueLeaf({ ca, leaf: spec })];
  assert.notEqual(one.key, two.key);
  assert.equal(inspect({ certificate: pem(one.certificate), key: pem(two.key) }).keyMatches, false);
});

test("a common name is taken as it is: quotes, commas and other alphabets make no other name", async () => {
  const ca = await newCa(`c, "root" CN=x +y`);
  for (const commonName of [`a"root"`, "a,CN=root", "a+CN=root", "Ünïcode", "a\nCN=root"]) {
    const leaf = await pki.issueLeaf({ ca, leaf: { ...spec, commonName } });
    const facts = read(leaf, ca);
    assert.equal(facts.commonName, commonName);
    assert.equal(facts.issuedBy, ca.fingerprint);
  }
});

test("a leaf is known by the CA of the bundle that signed it, also when both CAs have one name", async () => {
  const [old, current, stranger] = [await newCa(), await newCa(), await newCa("another")];
  const leaf = await pki.issueLeaf({ ca: old, leaf: spec });
  assert.equal(read(leaf, current, old).issuedBy, old.fingerprint);
  assert.equal(read(leaf, current, stranger).issuedBy, undefined);
  assert.equal(read(leaf).issuedBy, undefined);
});

test("a trust bundle holds each CA once, in order, and can be taken apart again", async () => {
  const [a, b] = [(await newCa("a")).certificate, (await newCa("b")).certificate];
  assert.equal(trustBundle([b, a, b.trimEnd()]), b + a);
  assert.deepEqual(splitBundle(`# old\n${b}\n# new\n${a}`), [b, a]);
});

test("what a clock issues that is up to an hour ahead is valid at once", async () => {
  const ahead = { ...clock, now: () => clock.now() + 59 * 60_000 };
  const early = createPki(ahead, { bytes: (n) => new Uint8Array(n).fill(1) });
  const ca = await early.issueCa({ commonName: "early", lifeMs: CA_LIFE_MS });
  const leaf = await early.issueLeaf({ ca, leaf: spec });
  for (const { notBefore } of [ca, leaf]) assert.ok(notBefore <= clock.now());
});

test("dates after 2049 are written as X.509 wants them", async () => {
  const late = createPki({ ...clock, now: () => Date.UTC(2051, 0, 1) }, { bytes: (n) => new Uint8Array(n) });
  const ca = await late.issueCa({ commonName: "late", lifeMs: CA_LIFE_MS });
  assert.equal(ca.notBefore, Date.UTC(2050, 11, 31, 23));
  assert.equal(read(ca).notAfter, Date.UTC(2060, 11, 29));
});

test("a bad request is refused with the field", async () => {
  const ca = await newCa();
  const refused = (leaf: Partial<LeafSpec>, where: string) =>
    assert.rejects(pki.issueLeaf({ ca, leaf: { ...spec, ...leaf } }), {
      name: "PkiError",
      reason: "invalid-request",
      where,
    });
  await refused({ commonName: " " }, "leaf.commonName");
  await refused({ commonName: "x".repeat(65) }, "leaf.commonName");
  await refused({ lifeMs: 59_999 }, "leaf.lifeMs");
  await refused({ lifeMs: Number.NaN }, "leaf.lifeMs");
  await refused({ sans: { dns: [], ips: [] } }, "leaf.sans");
  await refused({ sans: { dns: ["ok", "no good"], ips: [] } }, "leaf.sans.dns[1]");
  await refused({ sans: { dns: ["127.0.0.1"], ips: [] } }, "leaf.sans.dns[0]");
});

test("a CA that cannot sign is refused: another's key, a leaf in its place, an ended life", async () => {
  const ca = await newCa();
  const leaf = await pki.issueLeaf({ ca, leaf: spec });
  const refused = (authority: { certificate: string; key: string }, message: RegExp) =>
    assert.rejects(pki.issueLeaf({ ca: authority, leaf: spec }), { name: "PkiError", where: "ca", message });
  await refused({ certificate: ca.certificate, key: leaf.key }, /no matching private key/);
  await refused(leaf, /not a CA certificate/);
  const later = createPki({ ...clock, now: () => NOW + 2 * CA_LIFE_MS }, { bytes: (n) => new Uint8Array(n) });
  await assert.rejects(later.issueLeaf({ ca, leaf: spec }), { where: "ca", message: /expired at 2040/ });
});

test("what cannot be read is told by its file, and key text stays out of the message", async () => {
  const ca = await newCa();
  const broken = ca.certificate.replace(/\n.{40}/, `\n${"A".repeat(40)}`);
  const cases: [Parameters<typeof inspect>[0], string, string][] = [
    [{ certificate: pem("", "server.crt") }, "unreadable-certificate", "server.crt"],
    [{ certificate: pem(ca.key, "server.crt") }, "unreadable-certificate", "server.crt"],
    [{ certificate: pem(broken, "server.crt") }, "unreadable-certificate", "server.crt"],
    [
      { certificate: pem(ca.certificate), key: pem(ca.certificate, "server.key") },
      "unreadable-key",
      "server.key",
    ],
    [
      { certificate: pem(ca.certificate), key: pem(ca.key.slice(0, 90), "server.key") },
      "unreadable-key",
      "server.key",
    ],
    [{ certificate: pem(ca.certificate), trust: pem("none", "ca.crt") }, "unreadable-certificate", "ca.crt"],
  ];
  for (const [request, reason, where] of cases) {
    assert.throws(
      () => inspect(request),
      (error) => {
        assert.ok(error instanceof PkiError);
        assert.deepEqual([error.reason, error.where], [reason, where]);
        assert.ok(error.message.startsWith(`${where}: `));
        assert.ok(!error.message.includes(ca.key.slice(40, 60)));
        return true;
      },
    );
  }
});

test("a leaf beside the intermediate that signed it leads to the CA, and the chain ends with its first end", async () => {
  await import("reflect-metadata");
  const x509 = await import("@peculiar/x509");
  const KEY = { name: "ECDSA", namedCurve: "P-256" } as const;
  const signingAlgorithm = { name: "ECDSA", hash: "SHA-256" } as const;
  const [rootKeys, keys] = [
    await webcrypto.subtle.generateKey(KEY, true, ["sign", "verify"]),
    await webcrypto.subtle.generateKey(KEY, true, ["sign", "verify"]),
  ];
  const certify = async (name: string, issuer: string, subject: webcrypto.CryptoKeyPair, year: number) =>
    (
      await x509.X509CertificateGenerator.create({
        subject: `CN=${name}`,
        issuer: `CN=${issuer}`,
        publicKey: subject.publicKey,
        signingKey: rootKeys.privateKey,
        notBefore: new Date(Date.UTC(2030, 0)),
        notAfter: new Date(Date.UTC(year, 0)),
        signingAlgorithm,
        extensions: [new x509.BasicConstraintsExtension(true, undefined, true)],
      })
    ).toString("pem");
  const root = { certificate: await certify("root", "root", rootKeys, 2040), key: "" };
  const exported = await webcrypto.subtle.exportKey("pkcs8", keys.privateKey);
  const between = {
    certificate: `${await certify("between", "root", keys, 2035)}\n`,
    key: x509.PemConverter.encode(exported, "PRIVATE KEY"),
  };
  const leaf = await pki.issueLeaf({ ca: between, leaf: spec });
  const look = (text: string) => {
    const pem = (one: string) => ({ text: one, where: "here" });
    return inspect({ certificate: pem(text), key: pem(leaf.key), trust: pem(root.certificate) });
  };
  assert.equal(look(leaf.certificate).issuedBy, undefined);
  const facts = look(leaf.certificate + between.certificate);
  assert.equal(
    facts.issuedBy,
    inspect({ certificate: { text: root.certificate, where: "root" } }).fingerprint,
  );
  assert.deepEqual([facts.issuerEnds, facts.keyMatches], [Date.UTC(2035, 0), true]);
});
