/**
 * Tells how far a change of TLS is. The rollout makes it: its target serves clients in the new way and the old one until
 * the latter may end, which only a person or a time can say, since etcd does not report who still uses it (R56).
 */
import { approvable } from "../assess/approvals.ts";
import { HOLDS } from "../hold-classes.ts";
import { hold, holdFor } from "../outcome.ts";
import type { Rule } from "../rule.ts";
import { waysOf } from "../template/client-ways.ts";
import { targetOf, whyLocked } from "../template/target.ts";
import { namesOf, type MemberView } from "../view.ts";

export const changeTLS: Rule = (view) => {
  if (!view.established || !view.hasQuorum) return [];
  const { template, closing, locked } = targetOf(view);
  if (!template) return [];
  const unfinished = { unfinished: true };
  if (locked) return [holdFor(HOLDS.nothing, whyLocked(locked), unfinished)];
  const wanted = waysOf(template.tls);
  const lack = ({ record }: MemberView) => wanted.filter((way) => !waysOf(record.template.tls).includes(way));
  const exceed = ({ record }: MemberView) =>
    waysOf(record.template.tls).filter((way) => !wanted.includes(way));
  const opening = view.staying.filter((member) => lack(member).length > 0);
  if (opening.length > 0)
    return [
      hold(
        HOLDS.nothing,
        "WaysOpening",
        { members: namesOf(opening), ways: [...new Set(opening.flatMap(lack))] },
        unfinished,
      ),
    ];
  const ending = view.staying.filter((member) => exceed(member).length > 0);
  if (ending.length > 0)
    return [
      hold(
        HOLDS.nothing,
        "WaysClosing",
        { members: namesOf(ending), ways: [...new Set(ending.flatMap(exceed))] },
        unfinished,
      ),
    ];
  if (!closing) return [];
  const starting = view.staying.filter(({ upToDate, healthy }) => !upToDate || !healthy);
  if (starting.length > 0)
    return [hold(HOLDS.nothing, "WaysOpening", { members: namesOf(starting), ways: wanted }, unfinished)];
  const { ways, word, until, then } = closing;
  const { failedTarget } = view.observation.cluster.marks;
  if (failedTarget?.hash === then) {
    const { member, reason } = failedTarget;
    return [hold(HOLDS.nothing, "RolledBack", { member, why: reason }, unfinished)];
  }
  return [
    until === undefined
      ? hold(
          HOLDS.nothing,
          "ClosingAwaitsApproval",
          { ways, approval: approvable(view.observation, word) },
          unfinished,
        )
      : hold(HOLDS.nothing, "ClosingAwaitsTime", { ways, until }, { ...unfinished, until }),
  ];
};
