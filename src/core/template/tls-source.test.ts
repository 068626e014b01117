import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { AuthorityFacts } from "../observation.ts";
import { specOf } from "../testing/cluster.ts";
import { startHash, templateFor } from "./template.ts";
import { withSources } from "./tls-source.ts";

const secrets = {
  mode: "Secrets",
  client: { secrets: { server: "web", operator: "op" } },
  peer: { secrets: { member: "peers" } },
} as const;
const issued = {
  mode: "CertManager",
  client: { certManager: { server: { name: "web" }, operator: { name: "op" } } },
  peer: { certManager: { member: { name: "peers" } } },
} as const;
const tlsOf = (tls: NonNullable<Parameters<typeof specOf>[0]>["tls"]) =>
  templateFor(specOf({ tls }), "3.6.16").tls;
const [MANAGED, SECRETS, ISSUED] = [
  tlsOf({ managed: { leafLifetime: "24h" } }),
  tlsOf(secrets),
  tlsOf(issued),
];
const at = (facts: Partial<AuthorityFacts>) => {
  const authority: AuthorityFacts = {
    current: "a",
    phase: "Steady",
    expiresAt: Infinity,
    rotateAt: Infinity,
    ...facts,
  };
  return { client: authority, peer: authority };
};
const modes = ({ mode, client, peer }: typeof MANAGED) => [client?.mode ?? mode, peer?.mode ?? mode];
const starts = (tls: typeof MANAGED) =>
  startHash({ template: { ...templateFor(specOf({}), "3.6.16"), tls }, joined: true, initialCluster: [] });

describe("the source in the templates of members", () => {
  test("is the one that is asked for where nothing else runs", () => {
    for (const tls of [MANAGED, SECRETS, ISSUED]) {
      assert.equal(withSources(tls, [tls, tls], at({ given: true })), tls);
      assert.equal(withSources(tls, [], undefined), tls);
    }
  });

  test("stays until a rotation to the other one begins: nobody restarts for the edit alone", () => {
    for (const [asked, running, facts] of [
      [SECRETS, MANAGED, at({ turn: "Begin", successor: "b" })],
      [SECRETS, MANAGED, at({})],
      [SECRETS, MANAGED, undefined],
      [MANAGED, SECRETS, at({ given: true, turn: "Begin" })],
      [ISSUED, SECRETS, at({ given: true, turn: "Begin", successor: "b" })],
      [ISSUED, SECRETS, at({ given: true, awaited: true })],
    ] as const) {
      const now = withSources(asked, [running, running], facts);
      assert.deepEqual(modes(now), modes(running));
      assert.equal(starts(now), starts(running));
    }
  });

  test("changes by one restart where the other one gives certificates of the same CA", () => {
    assert.deepEqual(modes(withSources(ISSUED, [SECRETS, SECRETS], at({ given: true }))), modes(ISSUED));
    const midway = withSources(ISSUED, [SECRETS, ISSUED], at({ given: true, awaited: true }));
    assert.deepEqual(modes(midway), modes(ISSUED), "nobody who has changed goes back");
  });

  test("asks peers for a name that is in given certificates only while all members have such", () => {
    const bundle = { phase: "Bundle", other: "b" } as const;
    const reissue = { phase: "Reissue", other: "b" } as const;
    const drop = { phase: "Drop", other: "b" } as const;
    const to = (asked: typeof MANAGED, running: typeof MANAGED, facts: Partial<AuthorityFacts>) =>
      modes(withSources(asked, [running], at(facts)))[1];
    assert.equal(to(SECRETS, MANAGED, { ...bundle, otherGiven: true }), "Managed");
    assert.equal(to(SECRETS, MANAGED, { ...reissue, given: true }), "Managed");
    assert.equal(to(SECRETS, MANAGED, { ...drop, given: true }), "Secrets");
    assert.equal(to(MANAGED, SECRETS, { ...bundle, given: true }), "Managed", "with the first roll");
    assert.equal(to(MANAGED, SECRETS, { ...reissue, otherGiven: true }), "Managed");
    assert.equal(to(ISSUED, SECRETS, { ...bundle, given: true, otherGiven: true }), "CertManager");
  });
});
