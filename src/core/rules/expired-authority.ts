/**
 * The CA of a plane has expired. Processes that are connected stay so, and nothing that is restarted, added or moved would
 * be connected again: so members are left as they are. The way out ends all of them, and that is for a person to choose.
 */
import { expiredPlanes } from "../assess/expired-authority.ts";
import { isGiven } from "../config/flags.ts";
import { HOLDS } from "../steps/hold-classes.ts";
import { hold } from "../steps/outcome.ts";
import type { Rule } from "../rule.ts";
import { isVolatile } from "../template/template.ts";
import { namesOf } from "../view.ts";

export const expiredAuthority: Rule = (view) => {
  const [first] = expiredPlanes(view);
  if (!first || view.members.length === 0) return [];
  const { plane, expiredAt } = first;
  const lost = namesOf(view.members.filter(({ record }) => isVolatile(record.template)));
  const told = { plane, expiredAt, given: isGiven(view.spec.tls, plane), lost };
  return [hold(HOLDS.allButHealing, "AuthorityExpired", told, { unfinished: true })];
};
