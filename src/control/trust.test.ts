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
    newcomer: { certificate: "new", key: "key" },
    bundle: "oldnew",
    nameOf: (fingerprint) => fingerprint,
    endpoint: ({ name }) => ({ name, url: "https://here:2380" }),
  };
  const seen = new TrustWatch({ pki, probe, clock: systemClock });
  const see = async (of = member) => (await seen.see([of], [plane])).get(NAME)?.peer;
  return { see, asked: () => asked, rest: () => seen.see([member], []) };
}

test("a call that is answered shows that the new CA is trusted; the certificate shows who issued it", async () => {
  let answer: Offered | undefined;
  const { see, asked } = watch(() => answer);
  assert.deepEqual(await see(), {}, "no answer tells nothing");
  answer = { shown: "by old", served: false };
  assert.deepEqual(await see(), { shows: "old" });
  answer = { shown: "by old", served: true };
  assert.deepEqual(await see(), { accepts: "new", shows: "old" });
  answer = undefined;
  assert.deepEqual(await see(), { accepts: "new", shows: "old" }, "what a process trusts stays so (R45)");
  answer = { shown: "by new", served: true };
  assert.deepEqual(await see(), { accepts: "new", shows: "new" });
  const before = asked();
  assert.deepEqual(await see(), { accepts: "new", shows: "new" });
  assert.equal(asked(), before, "what was seen is not asked for again");
});

test("another process has to be seen itself, and one that does not run shows nothing", async () => {
  let answer: Offered | undefined = { shown: "by new", served: true };
  const { see } = watch(() => answer);
  assert.deepEqual(await see(), { accepts: "new", shows: "new" });
  assert.deepEqual(await see({ ...member, workload: { state: "absent" } }), {});
  answer = undefined;
  assert.ok(member.workload.state === "running");
  assert.deepEqual(await see({ ...member, workload: { ...member.workload, restarts: 7 } }), {});
});

test("when nothing is rotated nobody is asked, and nothing is remembered", async () => {
  const { see, rest, asked } = watch(() => ({ shown: "by new", served: true }));
  await see();
  assert.equal((await rest()).size, 0);
  await see();
  assert.equal(asked(), 2);
});
