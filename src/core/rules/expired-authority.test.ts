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

function withPeerCA(world: Observation, facts: Partial<AuthorityFacts>): Observation {
  const last = { phase: "Steady", expiresAt: NOW + 1_000 * MINUTE, rotateAt: Infinity } as const;
  const authorities = {
    client: { ...last, current: "client" },
    peer: { ...last, current: "peer", ...facts },
  };
  return { ...world, platform: { ...world.platform, authorities } };
}

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

test("where nobody is seen to serve because a CA has expired, that is what conditions say, and not that members are missing", () => {
  const unseen = (world: Observation): Observation => ({
    ...world,
    etcd: { ...world.etcd, list: undefined },
  });
  const silent = unseen(
    ["demo-1", "demo-2", "demo-3"].reduce(
      (world, name) => change(world, name, { answer: { reachable: false, error: "refused" } }),
      withPeerCA(healthy(), EXPIRED),
    ),
  );
  const reasons = (world: Observation) =>
    ["Ready", "Available", "Quorate", "Degraded"].map((type) => {
      const { conditions } = statusOf(world, decide(world), undefined);
      const { status = "", reason = "", message = "" } = findCondition(conditions, type) ?? {};
      if (reason === "CAExpired") assert.match(message, /Set spec\.replicas to 0/);
      return `${status} ${reason}`;
    });
  const expired = ["False CAExpired", "False CAExpired", "False CAExpired", "True CAExpired"];
  assert.deepEqual(reasons(silent), expired);
  const hidden = withPeerCA(unreachableEtcd(), EXPIRED);
  assert.deepEqual(
    reasons(hidden),
    Array.from({ length: 4 }, () => "Unknown CAExpired"),
  );
  const gone = exited(exited(silent, "demo-1", "data-missing"), "demo-2", "data-missing");
  assert.equal(reasons(gone)[0], "False QuorumLost", "another CA brings no data back");
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
