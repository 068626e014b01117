import assert from "node:assert/strict";
import { test } from "node:test";
import { healthy } from "../core/testing/cluster.ts";
import { systemClock } from "../seams/clock.ts";
import type { EtcdProbe, Offered } from "../seams/etcd-probe.ts";
import type { CertificateFacts, IssuedCertificate, Pki } from "../seams/pki.ts";
import type { PlatformMember } from "./platform.ts";
import { TrustWatch, type RotatingPlane } from "./trust.ts";

const member: PlatformMember = healthy().members[0]!;
const NAME = member.record.name;

/** A certificate is the name of who issued it. */
const pki: Pki = {
  issueCa: () => assert.fail("a watch makes no CA"),
  issueLeaf: ({ ca }) =>
    Promise.resolve({
      certificate: `by ${ca.certificate}`,
      key: "",
      notAfter: Infinity,
    } as IssuedCertificate),
  inspect: ({ certificate: { text } }) =>
    ({ fingerprint: text, issuedBy: text.startsWith("by ") ? text.slice(3) : undefined }) as CertificateFacts,
};

function watch(answer: () => Offered | undefined) {
  let asked = 0;
  const probe = {
    offer: (_endpoint: unknown, { certificate }: { certificate: string }) => {
      asked++;
      assert.equal(certificate, "by new");
      return Promise.resolve(answer());
    },
  } as unknown as EtcdProbe;
  const plane: RotatingPlane = {
    plane: "peer",
    name: "new",
    newerCa: { certificate: "new", key: "key" },
    bundle: "oldnew",
    nameOf: (fingerprint) => fingerprint,
    endpoint: ({ name }) => ({ name, url: "https://here:2380" }),
  };
  const time = { now: 1 };
  const seen = new TrustWatch({ pki, probe, clock: { ...systemClock, now: () => time.now } });
  const see = async (of = member) => (await seen.see([of], [plane])).get(NAME)?.peer;
  return { see, time, asked: () => asked, rest: () => seen.see([member], []) };
}

test("a call that is answered shows that the new CA is trusted; the certificate shows who issued it", async () => {
  let answer: Offered | undefined;
  const { see, asked } = watch(() => answer);
  assert.deepEqual(await see(), {}, "no answer tells nothing");
  answer = { shown: "by old", served: false };
  assert.deepEqual(await see(), { shows: "old" });
  answer = { shown: "by old", served: true };
  assert.deepEqual(await see(), { accepts: "new", shows: "old", seenAt: 1 });
  answer = undefined;
  assert.deepEqual(
    await see(),
    { accepts: "new", shows: "old", seenAt: 1 },
    "what a process trusts stays so (R45)",
  );
  answer = { shown: "by new", served: true };
  assert.deepEqual(await see(), { accepts: "new", shows: "new", seenAt: 1 });
  const before = asked();
  assert.deepEqual(await see(), { accepts: "new", shows: "new", seenAt: 1 });
  assert.equal(asked(), before, "what was seen is not asked for again");
});

test("another process has to be seen itself, and one that does not run shows nothing", async () => {
  let answer: Offered | undefined = { shown: "by new", served: true };
  const { see } = watch(() => answer);
  assert.deepEqual(await see(), { accepts: "new", shows: "new", seenAt: 1 });
  assert.deepEqual(await see({ ...member, workload: { state: "absent" } }), {});
  answer = undefined;
  assert.ok(member.workload.state === "running");
  assert.deepEqual(await see({ ...member, workload: { ...member.workload, restarts: 7 } }), {});
});

test("it is told when each was first seen, and a restart of the member does not begin that time again", async () => {
  let answer: Offered | undefined = { shown: "by old", served: false };
  const { see, time } = watch(() => answer);
  assert.equal((await see())?.seenAt, undefined, "nothing of the new CA was seen");
  const at = async (now: number, of = member) => {
    time.now = now;
    return (await see(of))?.seenAt;
  };
  answer = { shown: "by old", served: true };
  assert.equal(await at(10), 10);
  assert.equal(await at(20), 10);
  answer = { shown: "by new", served: true };
  assert.equal(await at(30), 30);
  assert.ok(member.workload.state === "running");
  const restarted = { ...member, workload: { ...member.workload, restarts: 7 } };
  assert.equal(await at(40, restarted), 30);
  const { see: another, time: later } = watch(() => answer);
  later.now = 50;
  assert.equal((await another())?.seenAt, 50, "another operator has seen nothing before");
});

test("when nothing is rotated nobody is asked, and nothing is remembered", async () => {
  const { see, rest, asked } = watch(() => ({ shown: "by new", served: true }));
  await see();
  assert.equal((await rest()).size, 0);
  await see();
  assert.equal(asked(), 2);
});
