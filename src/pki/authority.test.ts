import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../seams/clock.ts";
import { systemRandom } from "../seams/random.ts";
import {
  advanced,
  authorityFacts,
  bundleOf,
  givenIn,
  idOf,
  nameIn,
  newerCaOf,
  NO_ROTATION,
  noteOf,
  readRotation,
  rotateAt,
  trustedBy,
  turnOf,
  type Advance,
  type Authority,
  type RotationPhase,
} from "./authority.ts";
import { splitBundle } from "./bundle.ts";
import { createPki } from "./issue.ts";
import { CA_LIFE_MS, LEAF_LIFE_MS } from "./plan.ts";

const pki = createPki(systemClock, systemRandom);
const DAY = 24 * 3_600_000;

async function first(): Promise<Authority> {
  const { certificate, key } = await pki.issueCa({ commonName: "c peer CA", lifeMs: CA_LIFE_MS });
  return { signer: { certificate, key }, rotation: NO_ROTATION };
}

const id = ({ signer }: Authority) => idOf(pki, signer.certificate, "a CA");

function next(authority: Authority, to: RotationPhase, operation?: string): Promise<Authority> {
  const step = { cluster: "c", plane: "peer", to, current: id(authority), now: 7 } as const;
  return advanced(pki, authority, { ...step, ...(operation !== undefined && { operation }) });
}

test("a rotation goes through its phases: trusted beside, signing, and alone", async () => {
  const steady = await first();
  const bundle = await next(steady, "Bundle", "uid");
  const [old, fresh] = [steady.signer.certificate, bundle.other?.certificate ?? ""];
  assert.equal(bundle.signer.certificate, old);
  assert.equal(newerCaOf(bundle)?.certificate, fresh);
  assert.deepEqual(splitBundle(bundleOf(bundle)), [old, fresh], "the one that signs is first");
  const subjects = [old, fresh].map((text) => pki.inspect({ certificate: { text, where: "" } }).commonName);
  assert.deepEqual(subjects, ["c peer CA", "c peer CA 2"]);

  const reissue = await next(bundle, "Reissue");
  assert.deepEqual([reissue.signer.certificate, reissue.other], [fresh, { certificate: old }]);
  assert.equal(reissue.signer.key, bundle.other?.key, "the key of the old one is gone");
  const drop = await next(reissue, "Drop");
  assert.deepEqual(splitBundle(bundleOf(drop)), [fresh, old]);
  const end = await next(drop, "Steady");
  assert.equal(bundleOf(end), fresh);
  assert.deepEqual(end.rotation, { phase: "Steady", since: 7, generation: 2, operation: "uid" });
  assert.equal(authorityFacts(pki, end, LEAF_LIFE_MS).operation, "uid");
  const third = await next(end, "Bundle");
  assert.equal(third.rotation.operation, undefined, "what began by itself is nobody's");
});

test("a step that was taken before is taken once, and one that was decided on another state not at all", async () => {
  const bundle = await next(await first(), "Bundle");
  assert.equal(await next(bundle, "Bundle"), bundle);
  await assert.rejects(next(bundle, "Drop"), { reason: "invalid-request" });
  const stale = { cluster: "c", plane: "peer", to: "Reissue", current: "another", now: 7 } as const;
  await assert.rejects(advanced(pki, bundle, stale), { reason: "invalid-request" });
});

test("a member's file holds the CAs that its record names; without names the one that signs", async () => {
  const reissue = await next(await next(await first(), "Bundle"), "Reissue");
  const fresh = reissue.signer.certificate;
  const old = reissue.other?.certificate ?? "";
  const [newID, oldID] = [fresh, old].map((text) => idOf(pki, text, "a CA"));
  assert.equal(trustedBy(pki, reissue, undefined), fresh);
  assert.equal(trustedBy(pki, reissue, [newID!]), fresh);
  assert.equal(trustedBy(pki, reissue, [oldID!, newID!]), fresh + old);
  assert.equal(trustedBy(pki, reissue, ["gone"]), fresh + old, "better those that are left than none");
});

test("a CA is due in the last tenth of its life, earlier where leaves live longer, and never in its first half", () => {
  const life = (days: number) => ({ notBefore: 0, notAfter: days * DAY }) as Parameters<typeof rotateAt>[0];
  assert.equal(rotateAt(life(3650), 90 * DAY), 3285 * DAY);
  assert.equal(rotateAt(life(300), 90 * DAY), 210 * DAY);
  assert.equal(rotateAt(life(100), 90 * DAY), 50 * DAY);
});

test("what is kept beside the certificates is read back, and anything else is none", () => {
  const state = { phase: "Drop", since: 7, generation: 3, operation: "uid" } as const;
  assert.deepEqual(readRotation(JSON.stringify(state)), state);
  for (const text of ["", "null", "{}", '{"phase":"Gone","since":1,"generation":1}', '{"phase":"Drop"}'])
    assert.equal(readRotation(text), undefined, text);
});

test("a CA of somebody else's follows one of ours, whose key is kept until it is dropped; then the way leads back", async () => {
  const { certificate } = await pki.issueCa({ commonName: "Our company", lifeMs: CA_LIFE_MS });
  const given = { certificate, given: true } as const;
  const before = await first();
  const step = async (from: Authority, to: RotationPhase, more: Partial<Advance> = {}) =>
    await advanced(pki, from, { cluster: "demo", plane: "peer", to, current: id(from), now: 1, ...more });
  const theirs = { by: "others", offered: given } as const;
  const turns = (authority: Authority) => [
    turnOf(pki, authority, { by: "us" }),
    turnOf(pki, authority, theirs),
    turnOf(pki, authority, { by: "others", offered: undefined }),
  ];
  assert.deepEqual(turns(before), [undefined, "Begin", undefined]);
  const bundle = await step(before, "Bundle", { turn: "Begin", successor: given });
  assert.deepEqual(turns(bundle), ["Abort", undefined, undefined]);
  const aborted = await step(bundle, "Drop", { turn: "Abort" });
  assert.equal(aborted.signer.certificate, before.signer.certificate);
  assert.equal(aborted.other?.certificate, certificate, "is dropped");
  const reissue = await step(bundle, "Reissue");
  assert.deepEqual([reissue.signer.given, reissue.signer.key], [true, ""]);
  assert.equal(reissue.other?.key, before.signer.key);
  assert.deepEqual(turns(reissue), ["Reverse", undefined, undefined]);
  const reversed = await step(reissue, "Bundle", { turn: "Reverse" });
  assert.deepEqual(turns(reversed), [undefined, "Reverse", undefined]);
  assert.deepEqual(
    { ...(await step(reversed, "Reissue", { turn: "Reverse" })), rotation: 0 },
    { ...reissue, rotation: 0 },
  );
  const back = await step(reversed, "Reissue");
  assert.equal(back.signer.key, before.signer.key, "signs again");
  assert.deepEqual(turns(back), [undefined, "Reverse", undefined]);
  const drop = await step(reissue, "Drop");
  assert.equal(drop.other?.key, undefined);
  assert.deepEqual(turns(drop), [undefined, undefined, undefined], "ends first");
  assert.deepEqual(turns(await step(drop, "Steady")), ["Begin", undefined, undefined]);
  await assert.rejects(step(reissue, "Bundle"), /in phase Reissue, so Bundle cannot follow/);
  await assert.rejects(step(before, "Drop", { turn: "Abort" }), /in phase Steady/);
});

test("CAs that come together have one name, in whatever order they are written", async () => {
  const [a, b] = [(await first()).signer.certificate, (await first()).signer.certificate];
  const name = (certificate: string, servers?: string) =>
    idOf(pki, { certificate, ...(servers !== undefined && { servers }) }, "a CA");
  assert.equal(name(a + b), name(b + a));
  assert.equal(name(a + a), name(a));
  assert.equal(name(a, a), name(a));
  assert.equal(new Set([name(a), name(b), name(a + b), name(a, b), name(b, a)]).size, 5);
  const both: Authority = {
    signer: { certificate: a, servers: b, key: "", given: true },
    other: { certificate: b },
    rotation: { ...NO_ROTATION, phase: "Reissue" },
  };
  const shown = pki.inspect({ certificate: { text: b, where: "b" } }).fingerprint;
  assert.equal(nameIn(pki, both, shown), name(a, b), "the newer one of the two that know it");
  assert.deepEqual([givenIn(noteOf(both)), readRotation(noteOf(both))], [{ given: true }, both.rotation]);
});

test("a rotation that is abandoned is nobody's: whoever asked for it does not find it done", async () => {
  const bundle = await next(await first(), "Bundle", "uid");
  const step = {
    cluster: "c",
    plane: "peer",
    to: "Drop",
    turn: "Abort",
    current: id(bundle),
    now: 7,
  } as const;
  const dropped = await advanced(pki, bundle, step);
  assert.equal((await next(dropped, "Steady")).rotation.operation, undefined);
});

test("in the place of one that has expired another one signs at once, from any phase, and only once", async () => {
  const steady = await first();
  for (const before of [steady, await next(steady, "Bundle", "uid")]) {
    const step = { cluster: "c", plane: "peer", to: "Steady", turn: "Replace", now: 7 } as const;
    const after = await advanced(pki, before, { ...step, current: id(before) });
    assert.deepEqual(after.rotation, {
      phase: "Steady",
      since: 7,
      generation: before.rotation.generation + 1,
    });
    assert.equal(after.other, undefined);
    assert.notEqual(id(after), id(before));
    assert.notEqual(after.signer.key, "");
    assert.equal(await advanced(pki, after, { ...step, current: id(before) }), after, "it was done already");
  }
  const { certificate } = await pki.issueCa({ commonName: "theirs", lifeMs: CA_LIFE_MS });
  const step = { cluster: "c", plane: "peer", to: "Steady", turn: "Replace", now: 7 } as const;
  const successor = { certificate, given: true } as const;
  const theirs = await advanced(pki, steady, { ...step, current: id(steady), successor });
  assert.deepEqual(theirs.signer, { certificate, key: "", given: true });
});

test("several CAs that are given have expired when the last one has, of those that sign for either side", async () => {
  const ca = async (lifeMs: number) => (await pki.issueCa({ commonName: "theirs", lifeMs })).certificate;
  const [short, long, longer] = [await ca(DAY), await ca(2 * DAY), await ca(3 * DAY)];
  const endOf = (text: string) => pki.inspect({ certificate: { text, where: "" } }).notAfter;
  const ends = (certificate: string, servers?: string) => {
    const signer = { certificate, key: "", given: true, ...(servers !== undefined && { servers }) } as const;
    return authorityFacts(pki, { signer, rotation: NO_ROTATION }, LEAF_LIFE_MS).expiresAt;
  };
  assert.equal(ends(short + long), endOf(long));
  assert.equal(ends(longer, short + long), endOf(long));
});
