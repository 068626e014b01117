import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "../decide.ts";
import type { AuthorityFacts, Observation } from "../observation.ts";
import { findCondition } from "../status/condition.ts";
import { statusOf } from "../status/status.ts";
import { change, edit, exited, healthy, NOW, run } from "../testing/cluster.ts";
import { unreachableEtcd } from "../testing/unseen.ts";
import { viewOf } from "../view.ts";
import { expiredAuthority } from "./expired-authority.ts";

const MINUTE = 60_000;

function withCAs(
  world: Observation,
  facts: { client?: Partial<AuthorityFacts>; peer?: Partial<AuthorityFacts> },
): Observation {
  const last = { phase: "Steady", expiresAt: NOW + 1_000 * MINUTE, rotateAt: Infinity } as const;
  const authorities = {
    client: { ...last, current: "client", ...facts.client },
    peer: { ...last, current: "peer", ...facts.peer },
  };
  return { ...world, platform: { ...world.platform, authorities } };
}

const withPeerCA = (world: Observation, peer: Partial<AuthorityFacts>) => withCAs(world, { peer });

const EXPIRED = { expiresAt: NOW - MINUTE, rotateAt: NOW - 10 * MINUTE };
const codes = (world: Observation) =>
  expiredAuthority(viewOf(world)).map((outcome) => ("act" in outcome ? outcome.act.code : outcome.hold.code));

test("with a CA that has expired nobody is restarted, added or given up, and a person is told the way out", () => {
  const still = withPeerCA(healthy(), EXPIRED);
  assert.deepEqual(codes(still), ["AuthorityExpired"]);
  assert.deepEqual(codes(withPeerCA(healthy(), {})), []);
  const edited = edit(still, { options: { snapshotCount: 20_000 } });
  assert.equal(decide(edited).act, undefined);
  assert.equal(decide(edited).holds[0]?.reason, "CAExpired");
  const down = change(still, "demo-2", {
    answer: { reachable: false, error: "refused" },
    unhealthySince: NOW - 24 * 60 * MINUTE,
  });
  assert.notEqual(decide(down).act?.rule, "replace-broken");
});

/** Nobody answers, and there is no list of members. */
const unseen = (world: Observation): Observation =>
  ["demo-1", "demo-2", "demo-3"].reduce<Observation>(
    (one, name) => change(one, name, { answer: { reachable: false, error: "refused" } }),
    { ...world, etcd: { ...world.etcd, list: undefined } },
  );

function reasons(world: Observation): string[] {
  const { conditions } = statusOf(world, decide(world), undefined);
  return ["Ready", "Available", "Quorate", "Degraded"].map((type) => {
    const { status = "", reason = "", message = "" } = findCondition(conditions, type) ?? {};
    if (reason === "CAExpired") assert.match(message, /Set spec\.replicas to 0/);
    return `${status} ${reason}`;
  });
}

test("where nobody is seen to serve because a CA has expired, conditions say that, and not that members are missing", () => {
  const expired = ["False CAExpired", "False CAExpired", "False CAExpired", "True CAExpired"];
  assert.deepEqual(reasons(withPeerCA(unseen(healthy()), EXPIRED)), expired);
  const hidden = withCAs(unreachableEtcd(), { client: EXPIRED });
  assert.deepEqual(
    reasons(hidden),
    Array.from({ length: 4 }, () => "Unknown CAExpired"),
  );
});

test("where something else is in the way as well, an expired CA is not told in its place", () => {
  const silent = withPeerCA(unseen(healthy()), EXPIRED);
  const gone = exited(exited(silent, "demo-1", "data-missing"), "demo-2", "data-missing");
  assert.equal(reasons(gone)[0], "False QuorumLost", "another CA brings no data back");
  const quorate = (world: Observation) => reasons(world)[2];
  assert.equal(quorate(withPeerCA(unreachableEtcd(), EXPIRED)), "Unknown EtcdUnreachable", "peers' CA alone");
  assert.equal(quorate(exited(silent, "demo-1")), "False NoQuorum", "a process that ended");
  const onLostNode = change(silent, "demo-2", (member) => ({
    workload: { ...member.workload, lostNode: "node-b" },
  }));
  assert.equal(quorate(onLostNode), "False NoQuorum", "a node that does not answer");
  const paused = edit(silent, { paused: true });
  assert.equal(quorate(paused), "False NoQuorum", "the way out begins after the pause");
});

test("the API server's clock has to say so, too, and what is not encrypted has no CA", () => {
  const serverNow = EXPIRED.expiresAt - MINUTE;
  assert.deepEqual(codes({ ...withPeerCA(healthy(), EXPIRED), serverNow }), []);
  assert.deepEqual(codes(withPeerCA(healthy({ tls: { mode: "Disabled" } }), EXPIRED)), []);
});

test("it is replaced when nothing runs any more, one of somebody else's once there is another", () => {
  const asleep = run(edit(healthy(), { replicas: 0 }));
  const replacing = decide(withPeerCA(asleep, EXPIRED)).act?.action;
  const replace = { kind: "RotateAuthority", plane: "peer", to: "Steady", current: "peer", turn: "Replace" };
  assert.deepEqual(replacing, replace);
  assert.equal(decide(withPeerCA(asleep, {})).act, undefined);
  const awake = edit(withPeerCA(asleep, EXPIRED), { replicas: 3 });
  assert.notEqual(decide(awake).act?.action.kind, "RotateAuthority");

  const secrets = { server: "a", operator: "b" };
  const tls = { mode: "Secrets", client: { secrets }, peer: { secrets: { member: "c" } } } as const;
  const theirs = edit(asleep, { tls });
  assert.equal(decide(withPeerCA(theirs, { ...EXPIRED, given: true, awaited: true })).act, undefined);
  const offered = { ...EXPIRED, given: true, turn: "Begin", successor: "next" } as const;
  assert.deepEqual(decide(withPeerCA(theirs, offered)).act?.action, { ...replace, successor: "next" });
});
