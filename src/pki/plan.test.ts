import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { CertificateFacts, LeafSpec } from "../seams/pki.ts";
import type { Found, LeafVerdict } from "./plan.ts";
import {
  CA_LIFE_MS,
  LEAF_LIFE_MS,
  SHORTEST_LIFE_MS,
  USAGES,
  judgeCa,
  judgeLeaf,
  renewAt,
  validity,
} from "./plan.ts";

const DAY = 24 * 3600 * 1000;
const T0 = Date.UTC(2030, 0, 1);

const wanted: LeafSpec = {
  commonName: "c-0",
  sans: { dns: ["localhost"], ips: ["127.0.0.1"] },
  usages: USAGES.serverWithGateway,
  lifeMs: LEAF_LIFE_MS,
};

const ca: CertificateFacts = {
  commonName: "c client CA",
  sans: { dns: [], ips: [] },
  usages: [],
  isCa: true,
  serial: "01",
  fingerprint: "ca",
  issuedBy: "ca",
  keyMatches: true,
  ...validity(T0, CA_LIFE_MS),
};

/** What `issueLeaf` would have made at that time, as facts. */
function issueAt(now: number, spec: LeafSpec = wanted, authority: CertificateFacts = ca): CertificateFacts {
  return {
    commonName: spec.commonName,
    sans: spec.sans,
    usages: spec.usages,
    isCa: false,
    serial: "02",
    fingerprint: "leaf",
    issuedBy: authority.fingerprint,
    keyMatches: true,
    ...validity(now, spec.lifeMs, authority),
  };
}

const present = (facts: CertificateFacts): Found => ({ kind: "present", facts });

function judge(found: Found, now: number, authority = ca, spec = wanted, name = "c/c-0/client"): LeafVerdict {
  return judgeLeaf({ name, wanted: spec, found, ca: authority, now });
}

function flaw(verdict: LeafVerdict): string {
  return verdict.kind === "keep" ? "none" : `${verdict.kind} ${verdict.flaw}`;
}

const time = fc.integer({ min: T0, max: T0 + CA_LIFE_MS - DAY });
const life = fc.integer({ min: SHORTEST_LIFE_MS, max: CA_LIFE_MS });
const name = fc.string({ maxLength: 40 });

test("a certificate begins up to an hour in the past and a leaf never outlives its CA", () => {
  assert.deepEqual(validity(T0 + 500, LEAF_LIFE_MS), {
    notBefore: T0 - 60 * 60_000,
    notAfter: T0 + LEAF_LIFE_MS + 1000,
  });
  assert.equal(validity(T0, SHORTEST_LIFE_MS).notBefore, T0 - 6_000);
  assert.equal(validity(ca.notAfter - DAY, LEAF_LIFE_MS, ca).notAfter, ca.notAfter);
  assert.equal(validity(ca.notBefore, LEAF_LIFE_MS, ca).notBefore, ca.notBefore);
});

test("a leaf of ninety days is due after sixty, within a few days that depend on its name only", () => {
  const leaf = issueAt(T0);
  const dueAt = (n: string) => renewAt(n, leaf, LEAF_LIFE_MS);
  for (let i = 0; i < 100; i++) {
    const days = (dueAt(`c/c-${i}/peer`) - leaf.notBefore) / DAY;
    assert.ok(days >= 60 && days < 64.5, `c-${i}: day ${days}`);
  }
  assert.equal(dueAt("c/c-0/peer"), dueAt("c/c-0/peer"));
});

test("leaves issued together do not come due together", () => {
  const leaf = issueAt(T0);
  const names = Array.from({ length: 9 }, (_, i) => [`c/c-${i}/client`, `c/c-${i}/peer`]).flat();
  const hours = new Set(names.map((n) => Math.floor(renewAt(n, leaf, LEAF_LIFE_MS) / 3_600_000)));
  assert.ok(hours.size >= 15, `18 leaves fall due in ${hours.size} different hours`);
});

test("property: a leaf just issued is kept, and comes due after now and before it expires", () => {
  fc.assert(
    fc.property(time, life, name, (now, lifeMs, n) => {
      const spec = { ...wanted, lifeMs };
      const leaf = issueAt(now, spec);
      const verdict = judge(present(leaf), now, ca, spec, n);
      assert.equal(verdict.kind, "keep");
      assert.ok(verdict.kind === "keep" && verdict.lookAgainAt > now && verdict.lookAgainAt <= leaf.notAfter);
    }),
  );
});

test("property: one reissue settles every leaf, whatever was found and whatever the clock did", () => {
  const mangled = fc.record(
    {
      commonName: fc.constantFrom("c-0", "c-1", undefined),
      usages: fc.constantFrom<readonly string[]>(["clientAuth"], ["clientAuth", "serverAuth"], []),
      issuedBy: fc.constantFrom("ca", "old", undefined),
      keyMatches: fc.constantFrom(true, false, undefined),
      isCa: fc.boolean(),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(time, time, life, name, mangled, (issuedAt, now, lifeMs, n, changes) => {
      const spec = { ...wanted, lifeMs };
      const verdict = judge(present({ ...issueAt(issuedAt), ...changes }), now, ca, spec, n);
      if (verdict.kind === "issue")
        assert.equal(judge(present(issueAt(now, spec)), now, ca, spec, n).kind, "keep");
      else
        assert.ok(verdict.kind === "keep" && verdict.lookAgainAt > now, "the time to look again lies ahead");
    }),
  );
});

test("property: what is due stays due until it is renewed", () => {
  fc.assert(
    fc.property(time, fc.nat({ max: 200 * DAY }), fc.nat({ max: 200 * DAY }), (issuedAt, age, more) => {
      const leaf = present(issueAt(issuedAt));
      fc.pre(issuedAt + age + more < ca.notAfter);
      if (judge(leaf, issuedAt + age).kind === "issue") {
        assert.equal(judge(leaf, issuedAt + age + more).kind, "issue");
      }
    }),
  );
});

test("a leaf that is not the one wanted is reissued, and the flaw is named", () => {
  const good = issueAt(T0);
  const cases: [string, Found][] = [
    ["none", present(good)],
    ["none", present({ ...good, usages: ["clientAuth", "serverAuth"] })],
    ["issue absent", { kind: "absent" }],
    ["issue unreadable", { kind: "unreadable", message: "server.pem: is empty" }],
    ["issue wrong-kind", present({ ...good, isCa: true })],
    ["issue wrong-key", present({ ...good, keyMatches: false })],
    ["issue wrong-key", present({ ...good, keyMatches: undefined })],
    ["issue wrong-issuer", present({ ...good, issuedBy: undefined })],
    ["issue wrong-issuer", present({ ...good, issuedBy: "old" })],
    ["issue wrong-subject", present({ ...good, commonName: "c-1" })],
    ["issue wrong-sans", present({ ...good, sans: { dns: ["localhost"], ips: [] } })],
    [
      "issue wrong-sans",
      present({ ...good, sans: { dns: ["localhost", "old.example"], ips: ["127.0.0.1"] } }),
    ],
    ["issue wrong-usages", present({ ...good, usages: ["serverAuth"] })],
  ];
  for (const [expected, found] of cases) assert.equal(flaw(judge(found, T0 + DAY)), expected);
});

test("a clock that jumps forward or back costs a reissue, not an outage", () => {
  const leaf = issueAt(T0 + 100 * DAY);
  assert.equal(flaw(judge(present(leaf), T0 + 99 * DAY)), "issue not-yet-valid");
  assert.equal(flaw(judge(present(leaf), T0 + 190 * DAY + 1000)), "issue expired");
  assert.equal(flaw(judge(present(leaf), T0 + 189 * DAY)), "issue due");
  assert.equal(flaw(judge(present(leaf), leaf.notBefore)), "none");
});

test("a life made shorter takes effect on leaves already issued", () => {
  const leaf = present(issueAt(T0));
  assert.equal(flaw(judge(leaf, T0 + 8 * DAY)), "none");
  assert.equal(flaw(judge(leaf, T0 + 8 * DAY, ca, { ...wanted, lifeMs: 10 * DAY })), "issue due");
});

test("a CA is reported a year before its end, and what it can no longer sign is blocked with the reason", () => {
  const at = (now: number) => judgeCa(ca, LEAF_LIFE_MS, now);
  assert.deepEqual([at(T0).state, at(T0).canIssue], ["valid", true]);
  assert.equal(at(T0 + 3280 * DAY).state, "valid");
  assert.deepEqual([at(T0 + 3290 * DAY).state, at(T0 + 3290 * DAY).canIssue], ["expiring", true]);
  assert.deepEqual([at(T0 + 3651 * DAY).state, at(T0 + 3651 * DAY).canIssue], ["expired", false]);
  assert.deepEqual([at(T0 - DAY).state, at(T0 - DAY).canIssue], ["not-yet-valid", false]);
  assert.equal(judgeCa({ ...ca, keyMatches: undefined }, LEAF_LIFE_MS, T0).state, "wrong-key");
  assert.equal(judgeCa({ ...ca, isCa: false }, LEAF_LIFE_MS, T0).state, "wrong-kind");

  const leaf = present(issueAt(T0 + 3600 * DAY));
  const verdict = judge(leaf, T0 + 3651 * DAY);
  assert.equal(flaw(verdict), "blocked expired");
  assert.match(
    verdict.kind === "blocked" ? verdict.message : "",
    /c client CA expired at .*; it is replaced when the cluster is hibernated/,
  );
  // The clock before the CA's own life: a new leaf would not help either.
  assert.equal(flaw(judge(present(issueAt(T0)), T0 - DAY)), "blocked not-yet-valid");
});

test("a leaf cut short by its CA is not renewed ever faster towards the end", () => {
  const leaf = issueAt(ca.notAfter - 10 * DAY);
  assert.equal(leaf.notAfter, ca.notAfter);
  assert.deepEqual(judge(present(leaf), ca.notAfter - DAY), { kind: "keep", lookAgainAt: ca.notAfter });
});
