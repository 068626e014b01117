/**
 * etcd has auth on and refuses us: somebody enabled it by hand, or deleted our user. Where etcd trusts a CA that we can
 * sign with, a certificate of root lets us back in (R55), to give our own user its role again. It is a step of its own,
 * told as an event, and changes nothing else; without such a CA the refusal is told with the way out.
 */
import { causeOf } from "../assess/reach.ts";
import { act } from "../steps/outcome.ts";
import type { Rule } from "../rule.ts";

export const regainAccess: Rule = ({ observation, members, established, hasQuorum }) => {
  const { auth } = observation;
  const refused = members.filter(({ answer }) => causeOf(answer) === "authentication");
  if (!auth?.canActAsRoot || !established || hasQuorum || refused.length === 0) return [];
  const change = { do: "RegainAccess", user: auth.self, secret: auth.ownSecrets.operator } as const;
  return [act("heal", "AuthRegained", { user: auth.self }, { kind: "ChangeAuth", change })];
};
