/**
 * Rotates the CA of a plane without a moment in which one side does not accept the other: its successor is trusted
 * beside it by every member, then signs, and only then is the old one dropped. etcd reads CA files at its start (R45), so
 * trust changes by a roll, which is the rollout's to do: its target names the CAs. A phase ends when it was seen to have
 * ended on every member: a call with a certificate of the new CA was answered, or the certificate that it shows is of the
 * new CA. What clients trust and show cannot be seen (R56), so they get time.
 */
import { millisecondsOf } from "../../api/duration.ts";
import type { Outcome } from "../action.ts";
import { isSettled } from "../assess/settled.ts";
import { isSecure } from "../config/flags.ts";
import { HOLDS } from "../steps/hold-classes.ts";
import type { AuthorityFacts, Plane, RotationPhase } from "../observation.ts";
import { act, hold } from "../steps/outcome.ts";
import type { Rule } from "../rule.ts";
import { needsTrust, PLANES, trustOf } from "../template/effective.ts";
import { isVolatile } from "../template/template.ts";
import { hasLeft, namesOf, type MemberView, type View } from "../view.ts";

/** Kubelets take up to 90 seconds to refresh a mounted Secret, and applications some time to notice. */
const DEFAULT_SOAK = "10m";
/** What members trust and show is looked at this often; nothing tells when it changes. */
const LOOK_MS = 1_000;

/** A part of the time from when a CA is due to its end. */
const SOON = 0.1;

interface Rotation {
  readonly plane: Plane;
  readonly authority: AuthorityFacts;
}

export const rotateAuthorities: Rule = (view) => {
  if (!view.established || !view.hasQuorum) return [];
  const { authorities } = view.observation.platform;
  const planes = PLANES.flatMap((plane): Rotation[] => {
    const authority = authorities?.[plane];
    return authority ? [{ plane, authority }] : [];
  });
  const waits = new Map(planes.map((rotation) => [rotation, waitOf(view, rotation)]));
  const mayDrop = planes.every(
    (rotation) => rotation.authority.phase !== "Bundle" && (!isReissuing(rotation) || !waits.get(rotation)),
  );
  return planes.flatMap((rotation) => {
    const wait = waits.get(rotation);
    if (wait) return [wait];
    // Both planes together: dropping is a roll, and one roll is enough.
    return isReissuing(rotation) && !mayDrop ? [] : advance(view, rotation, planes);
  });
};

const isReissuing = ({ authority: { phase } }: Rotation) => phase === "Reissue";

function advance(view: View, { plane, authority }: Rotation, planes: readonly Rotation[]): Outcome[] {
  const { current, phase, expiresAt, turn, given, successor } = authority;
  const to = (next: RotationPhase) => {
    return { kind: "RotateAuthority", plane, to: next, current, ...(turn && { turn }) } as const;
  };
  switch (phase) {
    case "Steady": {
      if (turn !== "Begin")
        return isDue(view, authority, planes)
          ? [act("roll", "AuthorityDue", { plane, expiresAt }, to("Bundle"))]
          : [];
      const source = successor === undefined ? "ours" : given ? "changed" : "given";
      const action = { ...to("Bundle"), ...(successor !== undefined && { successor }) };
      return [act("roll", "AuthorityReplaced", { plane, source }, action)];
    }
    case "Bundle":
      if (turn === "Abort") return [act("roll", "AuthorityAbandoned", { plane }, to("Drop"))];
      if (turn) return [act("roll", "AuthorityReversed", { plane }, to("Reissue"))];
      return [act("roll", "AuthoritySwitched", { plane }, to("Reissue"))];
    case "Reissue":
      if (turn) return [act("roll", "AuthorityReversed", { plane }, to("Bundle"))];
      return [act("roll", "AuthorityRetired", { plane }, to("Drop"))];
    case "Drop":
      return [act("roll", "AuthorityRotated", { plane }, to("Steady"))];
  }
}

/**
 * A rotation restarts everybody twice: it begins only while all are well. One that is due soon begins with the other
 * plane's: the CAs of both are as old as the cluster, to the second, and would restart everybody once more.
 */
function isDue(view: View, { rotateAt, expiresAt }: AuthorityFacts, planes: readonly Rotation[]): boolean {
  const isBegun = planes.some(
    ({ authority }) =>
      authority.phase === "Bundle" || (authority.phase === "Steady" && view.now >= authority.rotateAt),
  );
  const early = isBegun ? (expiresAt - rotateAt) * SOON : 0;
  return view.now >= rotateAt - early && present(view).every(isSettled);
}

/** Why the present phase is not over; undefined when it is. */
function waitOf(view: View, { plane, authority }: Rotation): Outcome | undefined {
  const { phase, current, other = "", turn } = authority;
  // Everybody trusts both: which of them is the newer one may change at once.
  if (turn === "Reverse") return undefined;
  const about = (members: readonly MemberView[]) => ({ plane, members: namesOf(members) });
  const look = { unfinished: true, until: view.now + LOOK_MS };
  switch (phase) {
    case "Steady": {
      // Nobody has certificates of this plane: nobody is restarted for it.
      if (showing(view, plane).length === 0) return undefined;
      const { newcomersBlocked } = view.observation.platform;
      // To trust another CA they are replaced one by one (H4), and once it has begun nobody can be.
      const replaced =
        turn === "Begin" && newcomersBlocked
          ? present(view).filter(({ record }) => isVolatile(record.template))
          : [];
      if (newcomersBlocked && replaced.length > 0) {
        const facts = { ...about(replaced), why: newcomersBlocked.message };
        return hold(HOLDS.nothing, "AuthorityNeedsNewcomers", facts, { unfinished: true });
      }
      // Who has no certificates of this plane yet gets them from the present source first.
      const isReady = (member: MemberView) =>
        isSettled(member) && isSecure(member.record.template.tls, plane);
      const ailing = turn === "Begin" ? present(view).filter((member) => !isReady(member)) : [];
      return ailing.length > 0
        ? hold(HOLDS.nothing, "AuthorityWaits", about(ailing), { unfinished: true })
        : undefined;
    }
    case "Bundle": {
      // Nobody was given a certificate of the successor.
      if (turn === "Abort") return undefined;
      const lacking = trusting(view, plane).filter((member) => !runsWith(member, plane, [current, other]));
      if (lacking.length > 0)
        return hold(HOLDS.nothing, "TrustRolling", about(lacking), { unfinished: true });
      const unseen = trusting(view, plane).filter(({ trust }) => trust?.[plane]?.accepts !== other);
      if (unseen.length > 0) return hold(HOLDS.nothing, "TrustUnseen", about(unseen), look);
      const soaked = soakedAt(view, { plane, authority }, trusting(view, plane));
      return soaked > view.now
        ? hold(HOLDS.nothing, "BundleSoaks", { plane, until: soaked }, { until: soaked })
        : undefined;
    }
    case "Reissue": {
      const unseen = showing(view, plane).filter(({ trust }) => trust?.[plane]?.shows !== current);
      if (unseen.length > 0) return hold(HOLDS.nothing, "LeavesUnseen", about(unseen), look);
      const soaked = soakedAt(view, { plane, authority }, showing(view, plane));
      return soaked > view.now
        ? hold(HOLDS.nothing, "LeavesSoak", { plane, until: soaked }, { until: soaked })
        : undefined;
    }
    case "Drop": {
      const isLacking = (member: MemberView) =>
        !member.upToDate ||
        (needsTrust(member.record.template, plane) && !runsWith(member, plane, [current]));
      const lacking = present(view).filter(isLacking);
      return lacking.length > 0
        ? hold(HOLDS.nothing, "TrustDropping", about(lacking), { unfinished: true })
        : undefined;
    }
  }
}

/** Without those that etcd has removed: a Pod of theirs that hangs talks to nobody. */
function present(view: View): MemberView[] {
  return view.members.filter((member) => !hasLeft(view, member));
}

/** Members that check certificates on this plane; also those that leave, as long as they may vote. */
function trusting(view: View, plane: Plane): MemberView[] {
  return present(view).filter(({ record }) => needsTrust(record.template, plane));
}

function showing(view: View, plane: Plane): MemberView[] {
  return present(view).filter(({ record }) => isSecure(record.template.tls, plane));
}

/** Its record says so, and what runs was started from its record. */
function runsWith(member: MemberView, plane: Plane, trust: readonly string[]): boolean {
  const recorded = trustOf(member.record.template, plane) ?? [];
  const isSame = recorded.length === trust.length && trust.every((id) => recorded.includes(id));
  return isSame && member.upToDate && (member.healthy || !member.record.run);
}

/**
 * Peers are all ours, and are seen: only clients need time. It counts from when the last member was seen to have changed,
 * since nothing was written for clients either while the operator was away or the cluster was paused.
 */
function soakedAt(
  view: View,
  { plane, authority: { since = 0 } }: Rotation,
  members: readonly MemberView[],
): number {
  const { spec, now } = view;
  if (plane !== "client" || showing(view, plane).length === 0) return 0;
  const seen = members.map(({ trust }) => trust?.[plane]?.seenAt ?? now);
  return Math.max(since, ...seen) + millisecondsOf(spec.tls.rotation?.soak ?? DEFAULT_SOAK);
}
