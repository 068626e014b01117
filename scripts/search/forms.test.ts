/** Keys of every kind and passwords of tests are found in whatever form they are written, and nothing else is. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { generateKeyPairSync, randomBytes, type KeyObject } from "node:crypto";
import { test } from "node:test";
import { passwordOf } from "../../test/support/passwords.ts";
import { secretsIn } from "./forms.ts";

const pair = generateKeyPairSync;
const KEYS: Readonly<Record<string, { privateKey: KeyObject; publicKey: KeyObject }>> = {
  "P-256": pair("ec", { namedCurve: "P-256" }),
  "P-384": pair("ec", { namedCurve: "P-384" }),
  "P-521": pair("ec", { namedCurve: "P-521" }),
  Ed25519: pair("ed25519"),
  "RSA 2048": pair("rsa", { modulusLength: 2048 }),
  "RSA 4096": pair("rsa", { modulusLength: 4096 }),
};
const base64 = (text: string) => Buffer.from(text).toString("base64");
const bodyOf = (pem: string) => pem.split("\n").slice(1, -2).join("");

function forms(pem: string): Readonly<Record<string, string>> {
  return {
    "as it is": pem,
    "in JSON": JSON.stringify({ key: pem }),
    "in JSON within JSON": JSON.stringify({ key: JSON.stringify({ key: pem }) }),
    "without its heading": bodyOf(pem),
    "in base64": base64(pem),
    "in base64, after one byte": base64(`x${pem}`),
    "in base64, after two bytes": base64(`xy${pem}`),
  };
}

for (const [name, { privateKey, publicKey }] of Object.entries(KEYS)) {
  const types = name.startsWith("RSA")
    ? ["pkcs8", "pkcs1"]
    : name === "Ed25519"
      ? ["pkcs8"]
      : ["pkcs8", "sec1"];
  for (const type of types)
    test(`a private key of ${name} in ${type} is found in each form, with its line`, () => {
      const pem = String(privateKey.export({ format: "pem", type: type as "pkcs8" }));
      for (const [form, text] of Object.entries(forms(pem))) {
        // Of the larger curves etcd and Quorate make none, and nothing writes SEC 1 but OpenSSL's own tool.
        if (form === "without its heading" && type === "sec1" && name !== "P-256") continue;
        const found = secretsIn(`one\ntwo\n${text}\nfour`);
        assert.ok(
          found.some(({ line }) => line === 3),
          `${form}: ${JSON.stringify(found)}`,
        );
        for (const { what } of found) assert.ok(!text.includes(what));
      }
    });
  test(`a public key of ${name} is none`, () => {
    const pem = String(publicKey.export({ format: "pem", type: "spki" }));
    for (const text of Object.values(forms(pem))) assert.deepEqual(secretsIn(text), []);
  });
}

test("a password of a test is found, also in base64 wherever it begins; one that is known, in both forms", () => {
  const password = passwordOf("alice");
  for (const text of [password, base64(password), base64(`x${password}`), base64(`xy${password}`)])
    assert.equal(secretsIn(`a\n${text}`)[0]?.line, 2, text);
  const made = randomBytes(24).toString("base64url");
  for (const text of [`said ${made}`, base64(made)]) {
    assert.deepEqual(secretsIn(text), []);
    assert.equal(secretsIn(text, [made]).length, 1, text);
  }
});

test("what speaks of keys is none", () => {
  const spoken = [
    "-----BEGIN PRIVATE KEY-----",
    "no PRIVATE KEY-----\n in here",
    "-----BEGIN CERTIFICATE-----\nMIIB",
  ];
  for (const text of spoken) assert.deepEqual(secretsIn(text), []);
  for (let count = 0; count < 100; count++)
    assert.deepEqual(secretsIn(randomBytes(4_000).toString("base64")), []);
});
