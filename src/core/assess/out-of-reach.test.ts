/** Members that the operator alone cannot reach (H16): who vouches for them, and what becomes of them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { MemberFacts } from "../observation.ts";
import { replaceBroken } from "../rules/replace-broken.ts";
import { retemplate } from "../rules/retemplate.ts";
import { degraded, quorate } from "../status/conditions.ts";
import { NOW, change, edit, exited, healthy } from "../testing/cluster.ts";
import { says } from "../testing/says.ts";
import { EDITED, LONG_AGO, SILENT, approved, unreachableEtcd, unseen } from "../testing/unseen.ts";
import { viewOf } from "../view.ts";

test("one that runs and is not Ready is not restarted for an edit while the quorum is hidden, unless a person says so", () => {
  const world = edit(unseen(unreachableEtcd(), "demo-3", false), EDITED);
  assert.deepEqual(says(retemplate, world), []);
  assert.deepEqual(says(retemplate, approved(world, "restart-demo-3")), ["revert: revert demo-3"]);
  const ended = change(exited(world, "demo-3"), "demo-3", { unhealthySince: LONG_AGO });
  assert.deepEqual(says(retemplate, ended), ["revert: revert demo-3"], "what has ended can be mended");
});

test("one member that we do not see is kept while it is ready, unless its peers lost it or a person approves", () => {
  const one = (ready: boolean, seenByPeers?: boolean) =>
    unseen(healthy(), "demo-3", ready, seenByPeers === undefined ? {} : { seenByPeers });
  assert.deepEqual(says(replaceBroken, one(true, true)), ["MemberUnreachable"]);
  assert.deepEqual(says(replaceBroken, one(true)), ["MemberUnreachable"]);
  assert.deepEqual(says(replaceBroken, one(true, false)), ["heal: leave demo-3"]);
  assert.deepEqual(says(replaceBroken, one(false, true)), ["heal: leave demo-3"]);
  assert.deepEqual(says(replaceBroken, approved(one(true, true), "replace-demo-3")), ["heal: leave demo-3"]);
  assert.deepEqual(says(replaceBroken, approved(one(true, true), "replace-demo-2")), ["MemberUnreachable"]);
  assert.equal(degraded(viewOf(one(true, true)), []).status, "Unknown");
  assert.equal(
    quorate(viewOf(one(true))).message,
    "2 of 3 voters are healthy and 1 cannot be reached: none may fail now",
  );
});

test("an approval that was left standing waits until the member has been out of reach for its time", () => {
  const hidden = (seconds: number) =>
    unseen(healthy(), "demo-3", true, { seenByPeers: true, unhealthySince: NOW - seconds * 1_000 });
  const left = (seconds: number) => approved(hidden(seconds), "replace-demo-3");
  const [outcome] = replaceBroken(viewOf(left(1)));
  assert.ok(outcome && "hold" in outcome);
  assert.deepEqual([outcome.hold.reason, outcome.hold.until], ["MemberUnreachable", NOW + 299_000]);
  assert.match(outcome.hold.next ?? "", /is approved and begins once it has been unreachable for 5m\.$/);
  assert.deepEqual(says(replaceBroken, left(300)), ["heal: leave demo-3"]);
  const [unasked] = replaceBroken(viewOf(hidden(1)));
  assert.ok(unasked && "hold" in unasked);
  assert.match(unasked.hold.next ?? "", /takes effect once demo-3 has been unreachable for 5m\.$/);

  const restart = (seconds: number) => approved(edit(hidden(seconds), EDITED), "restart-demo-3");
  assert.deepEqual(says(retemplate, restart(1)), []);
  assert.deepEqual(says(retemplate, restart(120)), ["revert: revert demo-3"]);
});

test("a member that is too slow for us and Ready is kept; without a leader, or not Ready, it is down", () => {
  const slow = (ready: boolean | undefined, leaderID?: string) =>
    change(unseen(healthy(), "demo-3", ready), "demo-3", ({ record }) => {
      const { answer } = healthy().members.find((facts) => facts.record.name === record.name)!;
      assert.ok(answer.reachable);
      return { answer: { ...answer, linearizable: false, ...(leaderID && { leaderID }) } };
    });
  const [outcome] = replaceBroken(viewOf(slow(true)));
  assert.ok(outcome && "hold" in outcome);
  assert.equal(outcome.hold.reason, "MemberUnreachable");
  assert.match(
    outcome.hold.message,
    /too slow to answer a linearizable read\), but its etcd container is ready/,
  );
  for (const down of [slow(false), slow(undefined), slow(true, "0")])
    assert.deepEqual(says(replaceBroken, down), ["heal: leave demo-3"]);
});

test("where there is no readiness, the peers' word or a refusal vouches for a member", () => {
  const reach = (more: Partial<MemberFacts>) =>
    viewOf(unseen(healthy(), "demo-3", undefined, more)).members[2]?.outOfReach;
  assert.equal(reach({}), false);
  assert.equal(reach({ seenByPeers: true }), true);
  assert.equal(reach({ answer: { ...SILENT, cause: "authentication" } }), true);
});

test("a learner is never Ready: its peers vouch for one that has joined, and nobody for one that has not", () => {
  const o = unseen(healthy({ learners: 1 }), "demo-4", false, { seenByPeers: true });
  assert.equal(viewOf(o).members[3]?.outOfReach, true);
  const newcomer = change(o, "demo-4", ({ record }) => ({ record: { ...record, joined: false } }));
  assert.equal(viewOf(newcomer).members[3]?.outOfReach, false);
});
