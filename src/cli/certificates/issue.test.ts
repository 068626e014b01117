/** `certificate issue`: the kept certificate of an EtcdUser, a short-lived one, and what is said when there is neither. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { EtcdUser, EtcdUserStatus } from "../../api/etcd-user.ts";
import { API_VERSION } from "../../api/metadata.ts";
import { NO_ROTATION, type Authority } from "../../pki/authority.ts";
import { inspect } from "../../pki/inspect.ts";
import { createPki } from "../../pki/issue.ts";
import { clientLeaf } from "../../pki/plan.ts";
import { systemClock } from "../../seams/clock.ts";
import { systemRandom } from "../../seams/random.ts";
import { EXIT } from "../exit.ts";
import { collectingIo } from "../testing.ts";
import { demo } from "../testing/fake-target.ts";
import { issueFor } from "./issue.ts";
import type { UserSource } from "./user-source.ts";

const pki = createPki(systemClock, systemRandom);
const HOUR = 3_600_000;
const where = { where: "in namespace prod", command: "kubectl etcd", kind: "kubernetes" } as const;

const condition = (type: string, status: "True" | "False") => ({
  type,
  status,
  reason: "",
  message: "",
  lastTransitionTime: "",
});

function user(status: EtcdUserStatus, spec: Partial<EtcdUser["spec"]> = { certificate: {} }): EtcdUser {
  return {
    apiVersion: API_VERSION,
    kind: "EtcdUser",
    metadata: { name: "alice", namespace: "prod" },
    spec: { cluster: "demo", name: "alice@example.com", roles: [], ...spec },
    status,
  };
}

const READY: EtcdUserStatus = {
  certificate: { secret: "alice-etcd-tls", expires: "" },
  conditions: [condition("Ready", "True")],
};

async function world(given: Partial<UserSource> & { readonly tls?: "Disabled" | "Managed" } = {}) {
  const ca = await pki.issueCa({ commonName: "demo client CA", lifeMs: 100 * HOUR });
  const { certificate, key } = await pki.issueLeaf({ ca, leaf: clientLeaf("alice@example.com") });
  const authority: Authority = { signer: ca, rotation: NO_ROTATION };
  const { tls = "Managed", ...more } = given;
  const source: UserSource = {
    user: () => Promise.resolve(user(READY)),
    howToAsk: () => "kubectl patch",
    cluster: () => Promise.resolve(demo({ tls: { mode: tls } })),
    files: () => Promise.resolve({ certificate, key, ca: ca.certificate }),
    authority: () => Promise.resolve(authority),
    ...more,
  };
  const run = (ttlMs?: number, timeout = 0) =>
    issueFor({ user: "alice", ttlMs, timeout }, source, { where, io: collectingIo(), pki });
  return { run, certificate, ca };
}

test("what the operator issued to the user is given", async () => {
  const { run, certificate, ca } = await world();
  const issued = await run();
  assert.deepEqual(
    [issued.certificate, issued.ca, issued.name],
    [certificate, ca.certificate, "alice@example.com"],
  );
});

test("with a lifetime, one is signed that ends then, for clients only, in the name that the user has in etcd", async () => {
  const { run, certificate } = await world({ user: () => Promise.resolve(user({}, {})) });
  const issued = await run(HOUR);
  assert.notEqual(issued.certificate, certificate);
  const pem = (text: string) => ({ text, where: "test" });
  const facts = inspect({
    certificate: pem(issued.certificate),
    key: pem(issued.key),
    trust: pem(issued.ca),
  });
  assert.equal(facts.commonName, "alice@example.com");
  assert.deepEqual(facts.usages, ["clientAuth"]);
  assert.ok(facts.keyMatches && facts.issuedBy !== undefined);
  assert.ok(Math.abs(facts.notAfter - systemClock.now() - HOUR) < 60_000);
});

test("a user that does not exist, asks for none, cannot be applied or is not ready yet: each is told what to do", async () => {
  const noUser = await world({ user: () => Promise.resolve(undefined) });
  await assert.rejects(noUser.run(), { code: EXIT.notFound, message: /create an EtcdUser/ });
  const withoutOne = await world({ user: () => Promise.resolve(user({}, {})) });
  await assert.rejects(withoutOne.run(), /has no certificate of its own.*kubectl patch.*--ttl/);
  const stalled = {
    reason: "UnknownRole",
    message: "no such role",
    conditions: [condition("Stalled", "True")],
  };
  const wrong = await world({ user: () => Promise.resolve(user(stalled)) });
  await assert.rejects(wrong.run(), /cannot be applied \(UnknownRole\): no such role/);
  const late = await world({ user: () => Promise.resolve(user({ message: "Issuing." })) });
  await assert.rejects(late.run(), {
    code: EXIT.timedOut,
    message: /Last: Issuing\..*run the command again/,
  });
});

test("no lifetime is accepted that an application would want, and none without a CA of ours", async () => {
  const { run } = await world();
  for (const ttl of [1_000, 8 * 24 * HOUR]) await assert.rejects(run(ttl), /between 1m and 7d/);
  await assert.rejects((await world({ tls: "Disabled" })).run(HOUR), /mode Disabled.*by password/);
  const gone = await world({ authority: () => Promise.resolve(undefined) });
  await assert.rejects(gone.run(HOUR), /client CA of demo or its key is not there/);
});

test("a certificate in another name is not given", async () => {
  const other = await pki.issueCa({ commonName: "another", lifeMs: HOUR });
  const leaf = await pki.issueLeaf({ ca: other, leaf: clientLeaf("root") });
  const files = { certificate: leaf.certificate, key: leaf.key, ca: other.certificate };
  const { run } = await world({ files: () => Promise.resolve(files) });
  await assert.rejects(run(), /common name "root"/);
});
