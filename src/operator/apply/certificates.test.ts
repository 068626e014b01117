import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Secret } from "kubernetes-types/core/v1.d.ts";
import { sentencesOf } from "../../control/problem.ts";
import { healthy } from "../../core/testing/cluster.ts";
import { createPki } from "../../pki/issue.ts";
import { inspect } from "../../pki/inspect.ts";
import { PLANES, type Plane } from "../../pki/plan.ts";
import { systemClock } from "../../seams/clock.ts";
import { systemRandom } from "../../seams/random.ts";
import { Certificates } from "./certificates.ts";
import { isPlaneInUse, textIn } from "./secret-files.ts";
import { FILES } from "../render/config.ts";
import { memberSecret } from "../render/secret.ts";

const { cluster, members } = healthy();
const [first] = members;
const record = first!.record;
const DAY = 24 * 3_600_000;

async function world() {
  const time = { now: systemClock.now(), contradiction: undefined as string | undefined };
  const pki = createPki({ ...systemClock, now: () => time.now }, systemRandom);
  const certificates = new Certificates(pki, {
    now: () => time.now,
    get contradiction() {
      return time.contradiction;
    },
  });
  const authorities: Partial<Record<Plane, Secret>> = {};
  for (const plane of PLANES) {
    const secret = await certificates.newAuthority(cluster, plane);
    assert.ok(certificates.useAuthority(cluster, plane, secret));
    authorities[plane] = secret;
  }
  return { certificates, time, authorities };
}

const secretOf = (files: Record<string, string>) => memberSecret(cluster, record, files);

test("while our clock contradicts the API server's nothing is issued, and what is there is used", async () => {
  const { certificates, time } = await world();
  const files = (await certificates.memberFiles(cluster, record, undefined)) ?? {};
  time.now += 70 * DAY;
  time.contradiction = "the clocks differ";
  assert.deepEqual(await certificates.memberFiles(cluster, record, secretOf(files)), files);
  assert.match(sentencesOf(certificates.keeper.problems).join(), /due for renewal.*the clocks differ/);
  await assert.rejects(certificates.newAuthority(cluster, "peer"), { reason: "wrong-clock" });
  assert.equal(await certificates.memberFiles(cluster, { ...record, name: "demo-9" }, undefined), undefined);
  assert.equal(certificates.unissuedFor("demo-9")?.reason, "CertificateNotIssued", "the authority is there");
  time.contradiction = undefined;
  time.now += 10_000;
  assert.notDeepEqual(await certificates.memberFiles(cluster, record, secretOf(files)), files);
});

test("a CA that waits for the clock is not missing, however the difference of the clocks changes", async () => {
  const { certificates, time } = await world();
  for (const plane of PLANES) {
    certificates.leave(plane);
    time.contradiction = "the clocks differ by 10 s";
    await assert.rejects(certificates.newAuthority(cluster, plane), { reason: "wrong-clock" });
  }
  time.contradiction = "the clocks differ by 11 s";
  assert.equal(await certificates.memberFiles(cluster, record, undefined), undefined);
  assert.equal(certificates.unissuedFor(record.name)?.reason, "CertificateNotIssued");
});

describe("the certificates of a member", () => {
  test("another server certificate is issued when asked for, and nothing else; if it cannot be, what is there stays", async () => {
    const { certificates, time } = await world();
    const files = (await certificates.memberFiles(cluster, record, undefined)) ?? {};
    const present = secretOf(files);
    const reissued = (await certificates.memberFiles(cluster, record, present, [], "server")) ?? {};
    const changed = Object.keys(files).filter((file) => files[file] !== reissued[file]);
    assert.deepEqual(changed, [FILES.serverPem]);
    assert.notEqual(
      certificates.fingerprintOf(reissued[FILES.serverPem] ?? ""),
      certificates.fingerprintOf(files[FILES.serverPem] ?? ""),
    );
    time.contradiction = "the clocks differ";
    assert.deepEqual(await certificates.memberFiles(cluster, record, present, [], "server"), files);
    assert.deepEqual([...certificates.keeper.problems], []);
  });

  test("carry its names on both planes, the Service's own and the wildcard among them (R46)", async () => {
    const { certificates } = await world();
    const files = await certificates.memberFiles(cluster, record, undefined);
    assert.ok(files);
    const text = files[FILES.peerPem] ?? "";
    const trust = { text: files[FILES.peerCA] ?? "", where: "ca" };
    const facts = inspect({ certificate: { text, where: "peer" }, key: { text, where: "peer" }, trust });
    assert.ok(facts.keyMatches && facts.issuedBy !== undefined);
    assert.deepEqual(facts.usages.toSorted(), ["clientAuth", "serverAuth"]);
    for (const name of [
      "demo-peers.default.svc",
      "*.demo-peers.default.svc",
      "demo-1.demo-peers.default.svc",
    ])
      assert.ok(facts.sans.dns.includes(name), name);
  });

  test("let it dial its peers without a name that they would look up (R46, H15)", async () => {
    const { certificates } = await world();
    const files = (await certificates.memberFiles(cluster, record, undefined)) ?? {};
    const text = files[FILES.peerClientPem] ?? "";
    const trust = { text: files[FILES.peerCA] ?? "", where: "ca" };
    const facts = inspect({ certificate: { text, where: "peer" }, key: { text, where: "peer" }, trust });
    assert.ok(facts.keyMatches && facts.issuedBy !== undefined);
    assert.deepEqual(facts.sans, { dns: [], ips: [] });
    assert.deepEqual(facts.usages, ["clientAuth"]);
  });

  test("of a member from before, whose authority cannot sign any more, are used as they were", async () => {
    const { certificates, authorities } = await world();
    const { [FILES.peerClientPem]: _new, ...before } =
      (await certificates.memberFiles(cluster, record, undefined)) ?? {};
    const { "tls.key": _lost, ...data } = authorities.peer?.data ?? {};
    certificates.useAuthority(cluster, "peer", { ...authorities.peer, data });
    const files = await certificates.memberFiles(cluster, record, secretOf(before));
    assert.deepEqual(files, { ...before, [FILES.peerClientPem]: before[FILES.peerPem] });
    assert.match(sentencesOf(certificates.keeper.problems).join(), /demo-1 peer client/);
  });

  test("stay as they are until 2/3 of their life, and are then made anew", async () => {
    const { certificates, time } = await world();
    const files = (await certificates.memberFiles(cluster, record, undefined)) ?? {};
    assert.deepEqual(await certificates.memberFiles(cluster, record, secretOf(files)), files);
    const due = certificates.keeper.lookAgainAt;
    assert.ok(due !== undefined && due > time.now + 55 * DAY && due < time.now + 70 * DAY);
    time.now += 70 * DAY;
    const renewed = (await certificates.memberFiles(cluster, record, secretOf(files))) ?? {};
    assert.notEqual(renewed[FILES.serverPem], files[FILES.serverPem]);
    assert.equal(renewed[FILES.clientCA], files[FILES.clientCA], "the authority stays");
  });

  test("of a server are none of a client, but where its gateway has none of its own", async () => {
    const { certificates } = await world();
    const pem = (text: string | undefined) => ({ text: text ?? "", where: "here" });
    const files = (await certificates.memberFiles(cluster, record, undefined)) ?? {};
    const [server, gateway] = [FILES.serverPem, FILES.gatewayPem].map((file) =>
      inspect({ certificate: pem(files[file]) }),
    );
    assert.deepEqual([server?.usages, gateway?.usages], [["serverAuth"], ["clientAuth"]]);
    assert.equal(gateway?.commonName, undefined, "it acts as no user");
    // Started by a release from before: its gateway dials it with what it shows, and renewal must not end that.
    const before = { ...record, template: { ...record.template, renderVersion: 1 } };
    const both = (await certificates.memberFiles(cluster, before, secretOf(files))) ?? {};
    assert.equal(both[FILES.gatewayPem], undefined);
    const known = certificates.keeper.ends.map(({ name }) => name);
    assert.ok(!known.includes("demo-1 gateway"), "what is not used any more expires unnoticed");
    assert.deepEqual(inspect({ certificate: pem(both[FILES.serverPem]) }).usages, [
      "serverAuth",
      "clientAuth",
    ]);
  });

  test("that are due and cannot be renewed stay in use, and are not looked at on every pass", async () => {
    const { certificates, time, authorities } = await world();
    const files = (await certificates.memberFiles(cluster, record, undefined)) ?? {};
    await certificates.memberFiles(cluster, record, secretOf(files));
    for (const plane of PLANES) {
      const { "tls.key": _lost, ...data } = authorities[plane]?.data ?? {};
      certificates.useAuthority(cluster, plane, { ...authorities[plane], data });
    }
    time.now += 70 * DAY;
    assert.deepEqual(await certificates.memberFiles(cluster, record, secretOf(files)), files);
    assert.equal(certificates.keeper.problems.length, 6, "each authority, and each leaf that it should sign");
    assert.equal(certificates.keeper.lookAgainAt, time.now + 10_000);
    for (const plane of PLANES) certificates.useAuthority(cluster, plane, authorities[plane] ?? {});
    time.now += 10_000;
    const renewed = (await certificates.memberFiles(cluster, record, secretOf(files))) ?? {};
    assert.notEqual(renewed[FILES.peerPem], files[FILES.peerPem]);
    assert.deepEqual(certificates.keeper.problems, []);
    assert.equal(certificates.keeper.lookAgainAt, undefined, "nothing is due before they are in place");
  });

  test("are made anew when somebody wrote nonsense into them", async () => {
    const { certificates } = await world();
    const files = (await certificates.memberFiles(cluster, record, undefined)) ?? {};
    const mended = await certificates.memberFiles(
      cluster,
      record,
      secretOf({ ...files, [FILES.peerPem]: "nonsense" }),
    );
    assert.match(mended?.[FILES.peerPem] ?? "", /BEGIN CERTIFICATE[^]*BEGIN PRIVATE KEY/);
    assert.deepEqual(certificates.keeper.problems, []);
  });
});

test("an authority that cannot be read is reported, and what it signed stays in use", async () => {
  const { certificates, authorities } = await world();
  const broken: Secret = { ...authorities.peer, data: { ...authorities.peer?.data, "tls.crt": "" } };
  assert.equal(certificates.useAuthority(cluster, "peer", broken), false);
  assert.match(
    sentencesOf(certificates.keeper.problems).join(),
    /Secret default\/demo-peer-ca, tls\.crt: is empty/,
  );
  assert.equal(
    await certificates.memberFiles(cluster, record, undefined),
    undefined,
    "nobody starts without",
  );
  assert.ok(authorities.peer && certificates.useAuthority(cluster, "peer", authorities.peer));
  assert.deepEqual(certificates.keeper.problems, []);
});

test("what a member has is good while it is valid, also for an operator that never saw the authority", async () => {
  const { certificates, time } = await world();
  const files = (await certificates.memberFiles(cluster, record, undefined)) ?? {};
  const pki = createPki({ ...systemClock, now: () => time.now }, systemRandom);
  const withoutAuthority = new Certificates(pki, { now: () => time.now });
  assert.deepEqual(await withoutAuthority.memberFiles(cluster, record, secretOf(files)), files);
  assert.ok(withoutAuthority.areValid(record, secretOf(files)));
  assert.equal(withoutAuthority.unissuedFor(record.name), undefined);
  assert.ok(withoutAuthority.expiryOf(record.name));
  const broken = { ...files, [FILES.peerPem]: files[FILES.serverPem] ?? "" };
  assert.equal(
    await withoutAuthority.memberFiles(cluster, record, secretOf(broken)),
    undefined,
    "of another CA",
  );
  time.now += 91 * DAY;
  assert.equal(await withoutAuthority.memberFiles(cluster, record, secretOf(files)), undefined, "expired");
  assert.equal(withoutAuthority.areValid(record, secretOf(files)), false);
  assert.equal(withoutAuthority.unissuedFor(record.name)?.reason, "AuthorityMissing");
  assert.match(withoutAuthority.unissuedFor(record.name)?.message ?? "", /the client CA is missing/);
});

test("a plane is in use once a member of this cluster holds its authority, and not by a Secret of another", () => {
  const secret = secretOf({ [FILES.peerCA]: "x" });
  const secrets = new Map([[record.name, secret]]);
  assert.ok(isPlaneInUse("peer", [record], secrets));
  assert.equal(isPlaneInUse("client", [record], secrets), false);
  assert.equal(isPlaneInUse("peer", [{ ...record, uid: "another" }], secrets), false);
  assert.equal(textIn(secret, FILES.peerCA), "x");
});

test("certificates live as long as the spec says; a shorter life is taken up at once, and CAs stay", async () => {
  const { certificates, time, authorities } = await world();
  const files = (await certificates.memberFiles(cluster, record, undefined)) ?? {};
  const managed = { leafLifetime: "24h", caLifetime: "48h" };
  const short = { ...cluster, spec: { ...cluster.spec, tls: { ...cluster.spec.tls, managed } } };
  time.now += DAY;
  const renewed = (await certificates.memberFiles(short, record, secretOf(files))) ?? {};
  const pem = (text: string | undefined) => ({ text: text ?? "", where: "here" });
  const { notAfter } = inspect({ certificate: pem(renewed[FILES.serverPem]) });
  assert.ok(notAfter > time.now && notAfter < time.now + 25 * 3_600_000);
  assert.equal(renewed[FILES.clientCA], files[FILES.clientCA]);
  const ca = inspect({ certificate: pem(textIn(await certificates.newAuthority(short, "peer"), "tls.crt")) });
  assert.ok(ca.notAfter < time.now + 3 * DAY);
  const ends = new Map(certificates.expiries.map(({ name, expires }) => [name, expires]));
  assert.deepEqual(
    [...ends.keys()],
    ["client CA", "demo-1 client", "demo-1 gateway", "demo-1 peer", "demo-1 peer client", "peer CA"],
  );
  assert.equal(ends.get("demo-1 client"), notAfter);
  assert.ok(authorities.client && (ends.get("client CA") ?? 0) > time.now + 3000 * DAY);
});
