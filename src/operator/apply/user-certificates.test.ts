/** The certificates of EtcdUsers: issued, renewed, moved to another CA, and what is told of them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Secret } from "kubernetes-types/core/v1.d.ts";
import type { UserFacts } from "../../core/auth/facts.ts";
import { healthy } from "../../core/testing/cluster.ts";
import { inspect } from "../../pki/inspect.ts";
import { createPki } from "../../pki/issue.ts";
import { clientLeaf } from "../../pki/plan.ts";
import type { Given } from "../../pki/source.ts";
import { systemClock } from "../../seams/clock.ts";
import { systemRandom } from "../../seams/random.ts";
import { userSecret } from "../render/secret.ts";
import { Certificates } from "./certificates.ts";

const { cluster } = healthy();
const DAY = 24 * 3_600_000;

const user: UserFacts = {
  object: "orders",
  uid: "uid-orders",
  resourceVersion: "1",
  generation: 1,
  createdAt: 0,
  deleting: false,
  applied: true,
  name: "orders@example.com",
  status: {},
  certificate: true,
  roles: [],
};

async function world() {
  const time = { now: systemClock.now(), contradiction: undefined as string | undefined };
  const pki = createPki({ ...systemClock, now: () => time.now }, systemRandom);
  const certificates = new Certificates(pki, {
    now: () => time.now,
    get contradiction() {
      return time.contradiction;
    },
  });
  const authority = await certificates.newAuthority(cluster, "client");
  assert.ok(certificates.useAuthority(cluster, "client", authority));
  const issue = async (present?: Secret) => {
    const files = await certificates.users.files(cluster, user, present);
    return files && userSecret(cluster, user, files);
  };
  return { certificates, time, pki, issue };
}

const textIn = ({ data }: Secret, file: string) => Buffer.from(data?.[file] ?? "", "base64").toString();
const factsIn = (secret: Secret) =>
  inspect({
    certificate: { text: textIn(secret, "tls.crt"), where: "tls.crt" },
    key: { text: textIn(secret, "tls.key"), where: "tls.key" },
    trust: { text: textIn(secret, "ca.crt"), where: "ca.crt" },
  });

test("a certificate is the user's by its common name, for clients only, and its Secret goes with the EtcdUser", async () => {
  const { issue, certificates } = await world();
  const secret = await issue();
  assert.ok(secret);
  const facts = factsIn(secret);
  assert.equal(facts.commonName, user.name);
  assert.deepEqual(facts.usages, ["clientAuth"]);
  assert.ok(facts.keyMatches && facts.issuedBy !== undefined);
  assert.equal(secret.metadata?.name, "orders-etcd-tls");
  const [owner] = secret.metadata?.ownerReferences ?? [];
  assert.deepEqual(
    [owner?.kind, owner?.name, owner?.uid, owner?.controller],
    ["EtcdUser", "orders", user.uid, true],
  );
  assert.deepEqual(
    certificates.expiries.map(({ name }) => name),
    ["client CA"],
    "it is not the cluster's",
  );
});

test("it is renewed after two thirds of its life, and not before", async () => {
  const { issue, time } = await world();
  const first = await issue();
  assert.ok(first);
  time.now += 50 * DAY;
  assert.deepEqual(await issue(first), first);
  time.now += 20 * DAY;
  const second = await issue(first);
  assert.ok(second && factsIn(second).notAfter > factsIn(first).notAfter);
});

test("what is told of it comes from its Secret, also to an operator that has just started", async () => {
  const { certificates, issue, time } = await world();
  const secret = await issue();
  assert.ok(secret);
  const another = (await world()).certificates;
  for (const one of [certificates, another])
    assert.deepEqual(one.users.facts([user], [secret]), {
      orders: { secret: "orders-etcd-tls", expires: factsIn(secret).notAfter },
    });
  const foreign = { ...secret, metadata: { ...secret.metadata, ownerReferences: [] } };
  assert.deepEqual(another.users.facts([user], [foreign]), { orders: { secret: "orders-etcd-tls" } });
  certificates.users.note("orders", "it belongs to another owner");
  assert.equal(certificates.users.facts([user], [])["orders"]?.problem, "it belongs to another owner");
  assert.deepEqual(certificates.users.facts([{ ...user, deleting: true }], [secret]), {});
  time.contradiction = "the clocks differ";
  time.now += 70 * DAY;
  assert.deepEqual(await issue(secret), secret, "what is there stays in use");
  assert.match(certificates.users.facts([user], [secret])["orders"]?.problem ?? "", /the clocks differ/);
  assert.deepEqual([...certificates.keeper.problems], [], "it is not the cluster's problem");
});

test("with another CA it is issued again, and what it trusts is that CA", async () => {
  const { issue, certificates } = await world();
  const first = await issue();
  assert.ok(first);
  assert.ok(certificates.useAuthority(cluster, "client", await certificates.newAuthority(cluster, "client")));
  const second = await issue(first);
  assert.ok(second);
  assert.notEqual(textIn(second, "ca.crt"), textIn(first, "ca.crt"));
  assert.ok(factsIn(second).issuedBy !== undefined);
});

test("one that somebody else issued has to be in the user's name", async () => {
  const { issue, certificates, pki } = await world();
  const ca = await pki.issueCa({ commonName: "theirs", lifeMs: 90 * DAY });
  const trust = { text: ca.certificate, where: "ca.crt" };
  const given = async (commonName: string): Promise<Given> => {
    const leaf = await pki.issueLeaf({ ca, leaf: clientLeaf(commonName) });
    const pem = (text: string) => ({ text, where: "their Secret" });
    const find = () => ({ certificate: pem(leaf.certificate), key: pem(leaf.key), trust });
    return { kind: "gives", trust, accepts: trust, find };
  };
  assert.ok(certificates.useGiven("client", await given("root")));
  assert.equal(await issue(), undefined);
  assert.match(certificates.users.facts([user], [])["orders"]?.problem ?? "", /common name "root"/);
  assert.ok(certificates.useGiven("client", await given(user.name)));
  const secret = await issue();
  assert.equal(secret && factsIn(secret).commonName, user.name);
});
