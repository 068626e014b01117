import assert from "node:assert/strict";
import { test } from "node:test";
import type { AuthFacts } from "../auth/facts.ts";
import { decide } from "../decide.ts";
import type { MemberAnswer } from "../observation.ts";
import { sentenceOf, type Message } from "../messages/table.ts";
import { authReady } from "../status/conditions.ts";
import { healthy } from "../testing/cluster.ts";
import { viewOf, type View } from "../view.ts";
import { regainAccess } from "./regain-access.ts";

const AUTH: AuthFacts = {
  self: "quorate-operator",
  byCertificate: true,
  users: [],
  roles: [],
  passwords: {},
  ownSecrets: { root: "demo-root", operator: "demo-operator-auth" },
  canActAsRoot: true,
};
const REFUSED: MemberAnswer = { reachable: false, error: "permission denied", cause: "authentication" };

/** etcd refuses us at these members; those that it does not refuse do not answer either. */
function lockedOut(refused: readonly string[], auth: AuthFacts | undefined = AUTH): View {
  const { etcd, members, ...rest } = healthy();
  const { list: _unread, ...unread } = etcd;
  return viewOf({
    ...rest,
    ...(auth && { auth }),
    etcd: unread,
    members: members.map((facts) => ({
      ...facts,
      answer: refused.includes(facts.record.name)
        ? REFUSED
        : { reachable: false, error: "no answer", cause: "network" },
    })),
  });
}

const ALL = ["demo-1", "demo-2", "demo-3"];

test("where etcd refuses us and trusts a CA of ours, our user gets its role again as root, in a step of its own", () => {
  for (const refused of [ALL, ["demo-2"]]) {
    const [outcome, ...more] = regainAccess(lockedOut(refused));
    assert.ok(outcome && "act" in outcome);
    assert.deepEqual(more, []);
    assert.deepEqual(outcome.act.action, {
      kind: "ChangeAuth",
      change: { do: "RegainAccess", user: "quorate-operator", secret: "demo-operator-auth" },
    });
    assert.equal(outcome.act.class, "heal");
    assert.match(sentenceOf(outcome.act as Message), /quorate-operator/);
  }
  assert.equal(decide(lockedOut(ALL).observation).act?.code, "AuthRegained");
});

test("the status reports it as long as it lasts, whether auth was asked for or not any more", () => {
  for (const enabled of [true, false]) {
    const view = lockedOut(ALL);
    const auth = { enabled, clientRoles: [] };
    const told = authReady({ ...view, spec: { ...view.spec, auth } });
    assert.deepEqual([told?.status, told?.reason], ["False", "RegainingAccess"]);
    assert.match(told?.message ?? "", /refuses the operator: adding user quorate-operator/);
    const cannot = lockedOut(ALL, { ...AUTH, canActAsRoot: false });
    assert.equal(authReady({ ...cannot, spec: { ...cannot.spec, auth } })?.reason, "NotObserved");
  }
});

test("a member that answers and refuses only the read counts as one that refuses us", () => {
  const { observation } = lockedOut([]);
  const members = observation.members.map((facts, index) => {
    const { answer } = healthy().members[index] ?? {};
    return answer?.reachable
      ? { ...facts, answer: { ...answer, linearizable: false, refused: true } }
      : facts;
  });
  const view = viewOf({ ...observation, members });
  assert.equal(view.hasQuorum, false);
  assert.equal(regainAccess(view).length, 1);
});

test("nothing is done as root where nobody refuses us, etcd serves us, or it is not our cluster yet", () => {
  assert.deepEqual(regainAccess(lockedOut([])), [], "they are silent, and none refuses");
  const locked = lockedOut(ALL);
  assert.deepEqual(regainAccess({ ...locked, hasQuorum: true }), []);
  assert.deepEqual(regainAccess({ ...locked, established: false }), []);
});

test("without a CA that we can sign with the step is not taken", () => {
  assert.deepEqual(regainAccess(lockedOut(ALL, { ...AUTH, canActAsRoot: false })), []);
  const { auth: _none, ...observation } = lockedOut(ALL).observation;
  assert.deepEqual(regainAccess(viewOf(observation)), []);
});
