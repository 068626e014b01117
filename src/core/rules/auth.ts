/**
 * etcd's authentication as the spec asks for it: roles, then root, ourselves and the other users with what they may do,
 * read back, and only then enabled, since from that moment whoever lacks a right is locked out (R39, R40). One call a
 * step: whoever dies between two leaves users that may do nothing yet, and the next one continues.
 */
import type { Outcome } from "../action.ts";
import { lackTokens } from "../assess/tokens.ts";
import { authSteps, endings, type AuthStep } from "../auth/diff.ts";
import type { AuthChange, AuthFacts, EtcdAuth } from "../auth/facts.ts";
import { wantedAuth } from "../auth/wanted.ts";
import { HOLDS } from "../steps/hold-classes.ts";
import { act, hold } from "../steps/outcome.ts";
import type { Rule } from "../rule.ts";
import { isChangingTLS } from "../template/effective.ts";
import type { View } from "../view.ts";

export const auth: Rule = (view) => {
  const { auth: facts } = view.observation;
  if (!facts || !view.established || !view.hasQuorum) return [];
  const { etcd } = facts;
  const wanted = view.spec.auth?.enabled;
  if (etcd === undefined) return wanted ? [hold(HOLDS.nothing, "AuthNotRead", {}, { unfinished: true })] : [];
  // Where names come from certificates, every member must read them (R40).
  if (wanted && !etcd.enabled && isChangingTLS(view.staying, view.spec))
    return [hold(HOLDS.nothing, "AuthAwaitsTLS", {}, { unfinished: true })];
  const next = wanted ? enabled(view, facts, etcd) : off(view, facts, etcd);
  return next ? [next] : [];
};

function enabled(view: View, facts: AuthFacts, etcd: EtcdAuth): Outcome | undefined {
  const [first] = authSteps(view, facts, etcd);
  if (first) return stepFor(first);
  const blocked = wantedAuth(view, facts).users.find(({ own, problem }) => own && problem);
  if (blocked?.problem) {
    const params = { problem: blocked.problem, isEnabled: etcd.enabled };
    return hold(HOLDS.nothing, "AuthBlocked", params, { unfinished: true });
  }
  if (etcd.predicted) return act("record", "AuthReadBack", {}, authAction({ do: "ReadBack" }));
  if (etcd.enabled) return undefined;
  // A roll ends the tokens that members know; auth would begin with logins that fail.
  const members = lackTokens(view);
  if (members.length > 0) return hold(HOLDS.nothing, "AuthAwaitsTokens", { members }, { unfinished: true });
  const secret = view.spec.auth?.rootPasswordSecret ?? facts.ownSecrets.root;
  const users = Object.keys(etcd.users).length;
  return act("record", "AuthEnabled", { users }, authAction({ do: "EnableAuth", secret }));
}

/** Asked to be off, it is disabled; never asked for, what an administrator set up is left alone, and told. */
function off(view: View, facts: AuthFacts, etcd: EtcdAuth): Outcome | undefined {
  if (etcd.enabled && view.spec.auth?.enabled === false)
    return act("record", "AuthDisabled", {}, authAction({ do: "DisableAuth" }));
  const [first] = endings(view, facts, etcd);
  if (first) return stepFor(first);
  if (etcd.predicted) return act("record", "AuthReadBack", {}, authAction({ do: "ReadBack" }));
  return etcd.enabled && view.spec.auth === undefined
    ? hold(HOLDS.nothing, "AuthEnabledByHand", { self: facts.self })
    : undefined;
}

function authAction(change: AuthChange) {
  return { kind: "ChangeAuth", change } as const;
}

function stepFor(step: AuthStep): Outcome {
  if ("change" in step) return act("record", "AuthChanged", { change: step.change }, authAction(step.change));
  const { kind: of, note } = step;
  const { object: name, uid, resourceVersion } = step.of;
  const write = { of, name, uid, resourceVersion, change: { applied: note === "apply" } };
  return note === "apply"
    ? act("record", "AuthObjectApplied", { of, name }, { kind: "UpdateAuthObject", ...write })
    : act("record", "AuthObjectReleased", { of, name }, { kind: "UpdateAuthObject", ...write });
}
