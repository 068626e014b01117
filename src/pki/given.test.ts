import assert from "node:assert/strict";
import { test } from "node:test";
import type { CertificateFacts } from "../seams/pki.ts";
import { flawsOf, missingNames } from "./given.ts";
import { givenLeaf } from "./plan.ts";

const DAY = 24 * 3_600_000;
const NOW = 100 * DAY;
const sans = { dns: ["demo-client.default.svc", "demo-1.demo-peers.default.svc"], ips: [] };
const wanted = givenLeaf("demo-1", "client", sans);

const good: CertificateFacts = {
  commonName: "whatever",
  sans: { dns: ["demo-client.default.svc", "*.demo-peers.default.svc", "more.example"], ips: ["10.0.0.1"] },
  usages: ["serverAuth"],
  isCa: false,
  serial: "1",
  fingerprint: "f1",
  notBefore: NOW - DAY,
  notAfter: NOW + DAY,
  issuedBy: "ca",
  issuerEnds: NOW + 2 * DAY,
  keyMatches: true,
};

test("a certificate with more names than needed and wildcards for them can be used, whatever its subject", () => {
  assert.deepEqual(flawsOf(good, wanted, NOW), []);
  assert.deepEqual(flawsOf({ ...good, usages: [] }, wanted, NOW), [], "no usage means every usage");
});

test("everything that is wrong is told at once", () => {
  const flaws = (change: Partial<CertificateFacts>) =>
    flawsOf({ ...good, ...change }, wanted, NOW).join("; ");
  assert.match(flaws({ isCa: true }), /is a CA certificate/);
  assert.match(flaws({ keyMatches: false }), /does not match its private key/);
  assert.match(flaws({ issuedBy: undefined }), /is not signed by a CA in ca\.crt/);
  assert.match(flaws({ notBefore: NOW + 1000 }), /not valid before 1970-04-11T00:00:01/);
  assert.match(flaws({ issuerEnds: NOW - 1 }), /signed by a CA that expired at 1970-04-10/);
  assert.match(
    flaws({ notAfter: NOW - 1, usages: ["clientAuth"], sans: { dns: [], ips: [] } }),
    /^expired at .*; lacks the extended key usage serverAuth; lacks the names demo-client\.default\.svc, demo-1\.demo-peers\.default\.svc$/,
  );
});

test("with etcd's authentication on, the operator's certificate is of a name that etcd knows", () => {
  const flaws = (commonName: string | undefined, users: string[]) =>
    flawsOf({ ...good, commonName }, { ...wanted, users }, NOW);
  assert.deepEqual(flaws("ops", ["ops", "root"]), []);
  assert.deepEqual(flaws("root", ["ops", "root"]), []);
  assert.match(
    flaws("other", ["ops"])[0] ?? "",
    /^has the common name other, .*has the common name ops\. Use/,
  );
  assert.match(flaws(undefined, ["ops"])[0] ?? "", /^has no common name, /);
  assert.deepEqual(flaws(undefined, ["ops", ""]), []);
});

test("a wildcard stands for one label only, and for no other wildcard; addresses are compared, not spelled", () => {
  const has = { dns: ["*.default.svc", "Demo.Example"], ips: ["::1"] };
  const names = {
    dns: ["a.default.svc", "a.b.default.svc", "*.default.svc", "*.other.svc", "demo.example"],
    ips: [],
  };
  assert.deepEqual(missingNames(has, names), ["a.b.default.svc", "*.other.svc"]);
  assert.deepEqual(missingNames(has, { dns: [], ips: ["0:0:0:0:0:0:0:1", "127.0.0.1"] }), ["127.0.0.1"]);
});
