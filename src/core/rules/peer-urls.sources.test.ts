import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isSecure, peerScheme } from "../config/flags.ts";
import { decide } from "../decide.ts";
import type { Observation } from "../observation.ts";
import { settle } from "../plan/settle.ts";
import { tlsReady } from "../status/conditions.ts";
import { listeningAs, withPeers } from "../template/peer-plane.ts";
import { startHash, templateFor } from "../template/template.ts";
import { healthy, specOf } from "../testing/cluster.ts";
import {
  ask,
  count,
  ISSUED,
  OWN,
  PLAIN,
  plain,
  play,
  schemes,
  SECURE,
  secure as encrypted,
  told,
  withCA,
  type TLS,
} from "../testing/peer-change.ts";
import { viewOf } from "../view.ts";

describe("peers from plaintext to certificates that somebody else makes, and back", () => {
  const given = { given: true } as const;

  test("by the same two rolls, with no stop in between", () => {
    for (const tls of [OWN, ISSUED]) {
      const { world, codes } = play(withCA(ask(plain, tls), given));
      assert.deepEqual([count(codes, "MemberRolled"), count(codes, "PeerURLUpdated")], [6, 3]);
      assert.deepEqual(schemes(world), ["https", "https", "https"]);
      assert.deepEqual(told(world), []);
      const { world: back, codes: backwards } = play(ask(world, PLAIN));
      assert.deepEqual([count(backwards, "MemberRolled"), count(backwards, "PeerURLUpdated")], [6, 3]);
      assert.deepEqual(
        back.members.map(({ record: one }) => startHash(one)),
        plain.members.map(({ record: one }) => startHash(one)),
      );
    }
  });

  test("undone after a step, or changed to another source, it leads there", () => {
    const start = withCA(ask(plain, OWN), given);
    const whole = play(start).codes.length;
    for (let steps = 1; steps <= whole; steps += 2) {
      const half = play(start, (codes) => codes.length === steps).world;
      assert.deepEqual(
        schemes(play(ask(half, PLAIN)).world),
        ["http", "http", "http"],
        `after ${steps} steps`,
      );
      const managed = withCA(ask(half, SECURE), { ...given, turn: "Begin" });
      const { world, codes } = play(managed);
      assert.deepEqual(schemes(world), ["https", "https", "https"], `after ${steps} steps`);
      assert.ok(world.members.every(({ record: { template } }) => template.tls.peer?.mode !== "Secrets"));
      assert.ok(codes.includes("AuthorityReplaced"));
    }
  });

  test("nobody is stopped before there is a certificate for every member", () => {
    for (const [tls, facts] of [
      [OWN, undefined],
      [ISSUED, { ...given, awaited: true }],
      [OWN, { awaited: true }],
      [OWN, { ...given, phase: "Drop", other: "ours" }],
      [SECURE, undefined],
    ] as const) {
      const world = withCA(ask(plain, tls), facts);
      const { act } = decide(world);
      assert.ok(act === undefined || act.action.kind === "RotateAuthority", act?.code);
      assert.deepEqual(
        told(world).map(({ code }) => code),
        ["CertificatesAwaited"],
      );
    }
  });

  test("the CA of another source, which nobody uses any more, is replaced before anybody restarts", () => {
    const world = withCA(ask(plain, OWN), { current: "ours", turn: "Begin", successor: "theirs" });
    const { world: end, codes } = play(world);
    assert.deepEqual(codes.slice(0, 5), [
      "AuthorityReplaced",
      "AuthoritySwitched",
      "AuthorityRetired",
      "AuthorityRotated",
      "MemberRolled",
    ]);
    assert.deepEqual(schemes(end), ["https", "https", "https"]);
  });

  test("what is not given any more in between holds the roll where it is; those of another source are given up", () => {
    const half = play(withCA(ask(plain, OWN), given), (codes) => codes.at(-1) === "MemberRestarted").world;
    const secure = (world: Observation) =>
      world.members.filter(({ record: { template } }) => isSecure(template.tls, "peer")).length;
    assert.equal(secure(half), 1);
    const awaited = withCA(settle(half), { ...given, awaited: true });
    assert.equal(decide(awaited).act, undefined);
    assert.ok(decide(awaited).holds.some(({ code }) => code === "CertificatesAwaited"));
    const other = play(withCA(settle(half), { ...given, phase: "Bundle", other: "next", otherGiven: true }));
    assert.equal(secure(other.world), 3);
    assert.ok(other.codes.indexOf("MemberRolled") < other.codes.indexOf("AuthoritySwitched"));
  });
});

describe("what is told while a restart is held back", () => {
  const certificates = { problems: [], expiry: {} };
  const ready = (world: Observation) => tlsReady(viewOf(world), certificates);

  test("the last process still listens in plaintext, whatever its record says", () => {
    const world = play(ask(plain, SECURE), (codes) => count(codes, "PeerURLUpdated") === 3).world;
    assert.deepEqual(schemes(world), ["https", "https", "https"]);
    const [wait] = told(world);
    assert.deepEqual(wait?.params, { members: ["demo-2"], phase: "https" });
    assert.deepEqual([ready(world).status, ready(world).reason], ["False", "RollingOut"]);
    assert.equal(ready(play(world).world).status, "True");
  });

  test("the last process still serves clients in plaintext, whatever its record says", () => {
    const tls: TLS = { ...SECURE, transition: { proceed: "After", after: "1s" } };
    const begin = healthy({ tls: { client: { mode: "Disabled" } } });
    let last = begin;
    play(ask(begin, tls), (_codes, world) => {
      const isClosed = world.members.every(({ record: { template } }) => !template.tls.effective?.client);
      if (isClosed) last = world;
      return isClosed;
    });
    assert.ok(told(last).some(({ code }) => code === "WaysClosing"));
    assert.equal(ready(last).reason, "RollingOut");
    assert.equal(ready(play(last).world).status, "True");
  });

  test("a restart for something else says nothing about TLS", () => {
    const world = play(ask(plain, PLAIN), () => true).world;
    const rolled = play(
      { ...world, cluster: { ...world.cluster, spec: specOf({ tls: PLAIN, version: "3.6.17" }) } },
      (codes) => codes.includes("MemberRolled"),
    ).world;
    assert.deepEqual(told(rolled), []);
    assert.equal(ready(rolled).status, "True");
  });
});

describe("members that others added", () => {
  const withForeign = (world: Observation, peerURL: string): Observation => {
    const entry = {
      id: "f00d",
      name: "guest",
      peerURLs: [peerURL],
      clientURLs: [],
      isLearner: true,
      ours: false,
    };
    const { list } = world.etcd;
    return {
      ...world,
      etcd: { ...world.etcd, ...(list && { list: { ...list, members: [...list.members, entry] } }) },
    };
  };

  test("one in plaintext is named before it is cut off, and a person lets it be", () => {
    const { world, codes } = play(withForeign(ask(plain, SECURE), "http://guest:2380"));
    assert.deepEqual(schemes(world), ["http", "http", "http"]);
    assert.equal(count(codes, "MemberRolled"), 3, "certificates hurt nobody");
    const wait = told(world).find(({ code }) => code === "PeersAwaitForeign");
    assert.ok(wait?.approval && wait.needsPerson);
    const approved = wait.approval.word;
    const { world: end } = play({ ...world, cluster: { ...world.cluster, approved } });
    assert.deepEqual(schemes(end), ["https", "https", "https"]);
  });

  test("one that listens with TLS is none of our business", () => {
    const { world } = play(withForeign(ask(plain, SECURE), "https://guest:2380"));
    assert.deepEqual(schemes(world), ["https", "https", "https"]);
  });
});

test("where rollouts wait for approval, that for clients lets no roll of peers pass", () => {
  const update = { strategy: "OnApproval" } as const;
  const begin = healthy({ tls: { mode: "Disabled" }, update });
  let world = ask(begin, SECURE);
  const approved: string[] = [];
  for (let left = 10; left > 0; left--) {
    ({ world } = play(world));
    const [wait, ...more] = decide(world).holds.flatMap(({ approval }) => approval ?? []);
    if (!wait) break;
    assert.deepEqual(more, [], "one thing at a time");
    approved.push(wait.word);
    world = { ...world, cluster: { ...world.cluster, approved: wait.word } };
  }
  assert.equal(decide(world).converged, true);
  assert.deepEqual([approved.length, new Set(approved).size], [3, 3], "certificates, peers, clients");
  assert.deepEqual(schemes(world), ["https", "https", "https"]);
});

describe("peers that listen as etcd lists them", () => {
  const { tls } = templateFor(specOf({ tls: SECURE }), "3.6.16");

  test("nothing is left of a change that is over", () => {
    assert.deepEqual(listeningAs(listeningAs(tls, "http://a:2380"), "https://a:2380"), tls);
    const trusting = { ...tls, effective: { peer: { trust: ["a"] } } };
    assert.deepEqual(listeningAs(listeningAs(trusting, "http://a:2380"), "https://a:2380"), trusting);
  });

  test("a founder listens as it was planned until it has joined", () => {
    const members = encrypted.members.map(({ record }) => ({
      record: { ...record, joined: false },
      upToDate: true,
    }));
    const asked = templateFor(specOf({ tls: { ...PLAIN, clientAuth: "None" } }), "3.6.16").tls;
    const now = withPeers(members, asked, { authorities: undefined, mayListen: true });
    assert.deepEqual([peerScheme(now), isSecure(now, "peer"), now.clientAuth], ["https", true, "None"]);
  });
});
