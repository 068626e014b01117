/**
 * Tells how far a change of TLS is. The rollout makes it: its target serves clients in the new way and the old one until
 * the latter may end, which only a person or a time can say, since etcd does not report who still uses it (R56). Peers are
 * all ours: nobody is waited for but them.
 */
import { approvable } from "../assess/approvals.ts";
import { listed } from "../assess/foreign.ts";
import { HOLDS } from "../steps/hold-classes.ts";
import { hold, holdFor } from "../steps/outcome.ts";
import type { Rule } from "../rule.ts";
import type { Outcome } from "../action.ts";
import type { MemberTemplate } from "../record.ts";
import { waysOf } from "../template/client-ways.ts";
import { peerPhase, type PeerPhase } from "../template/peer-plane.ts";
import { runningTLS } from "../template/running-tls.ts";
import { targetOf, whyLocked, type Target } from "../template/target.ts";
import { templateFor } from "../template/template.ts";
import { sourceState } from "../template/tls-source.ts";
import { namesOf, type MemberView, type View } from "../view.ts";

export const changeTLS: Rule = (view) => {
  if (!view.established || !view.hasQuorum) return [];
  const target = targetOf(view);
  if (!target.template) return [];
  // To find it out is to try what it may be: once for each member.
  const known = new Map(view.staying.map((member) => [member, runningTLS(member)]));
  const running = (member: MemberView) => known.get(member) ?? runningTLS(member);
  return [
    ...clients(view, target, target.template, running),
    ...(cutOff(view, target) ?? peers(view, running)),
  ];
};

type Running = (member: MemberView) => MemberTemplate["tls"];

function cutOff({ observation }: View, { cutOff: foreign }: Target): readonly Outcome[] | undefined {
  if (!foreign) return undefined;
  const members = foreign.members.map(listed);
  const approval = approvable(observation, foreign.word);
  return [hold(HOLDS.nothing, "PeersAwaitForeign", { members, approval }, { unfinished: true })];
}

/** One phase after the other: those that are in the first of them hold up the rest. */
const PHASES: readonly PeerPhase[] = ["certificates", "https", "http", "plaintext"];

function peers(view: View, running: Running): readonly Outcome[] {
  const { tls } = templateFor(view.spec, view.spec.version);
  const phases = new Map(view.staying.map((member) => [member, peerPhase(running(member), tls)]));
  const reached = new Set(phases.values());
  const phase = PHASES.find((one) => reached.has(one));
  if (!phase) return [];
  if (phase === "certificates" && sourceState(tls, "peer", view.observation.platform.authorities) !== "ready")
    return [hold(HOLDS.nothing, "CertificatesAwaited", { plane: "peer" }, { unfinished: true })];
  const members = namesOf(view.staying.filter((member) => phases.get(member) === phase));
  return [hold(HOLDS.nothing, "PeersChanging", { members, phase }, { unfinished: true })];
}

function clients(
  view: View,
  { closing, locked, awaitsClient }: Target,
  template: MemberTemplate,
  running: Running,
): readonly Outcome[] {
  const unfinished = { unfinished: true };
  if (awaitsClient) return [hold(HOLDS.nothing, "CertificatesAwaited", { plane: "client" }, unfinished)];
  if (locked) return [holdFor(HOLDS.nothing, whyLocked(locked), unfinished)];
  const wanted = waysOf(template.tls);
  const lack = (member: MemberView) => wanted.filter((way) => !waysOf(running(member)).includes(way));
  const exceed = (member: MemberView) => waysOf(running(member)).filter((way) => !wanted.includes(way));
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
}
