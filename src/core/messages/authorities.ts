/** Messages of the rotation of a CA. */
import type { Plane } from "../facts/authority-facts.ts";
import { step, wait, type Names } from "./message.ts";
import { dateTime, list } from "./words.ts";

interface OfPlane {
  readonly plane: Plane;
}
interface OfMembers extends OfPlane {
  readonly members: Names;
}

interface OfExpired extends OfPlane {
  readonly expiredAt: number;
  /** Somebody else makes certificates. */
  readonly given: boolean;
  /** Whose data a restart loses. */
  readonly lost: Names;
}

const OF_PLANE: OfPlane = { plane: "client" };
const OF_MEMBERS: OfMembers = { plane: "peer", members: ["demo-2", "demo-3"] };
const rotating = (plane: Plane) => `rotating the ${plane} CA`;

const SOURCES = {
  ours: (plane: Plane) => `spec.tls asks for a ${plane} CA of Quorate's`,
  given: (plane: Plane) => `spec.tls asks for ${plane} certificates of another source`,
  changed: (plane: Plane) => `the source of the ${plane} certificates has another CA`,
} as const;

export const AUTHORITIES = {
  AuthorityDue: step({
    say: ({ plane, expiresAt }: OfPlane & { expiresAt: number }) =>
      `the ${plane} CA expires on ${dateTime(expiresAt)}: creating its successor, which members will trust beside it`,
    example: { ...OF_PLANE, expiresAt: Date.UTC(2036, 0, 2, 2, 30) },
  }),
  AuthorityReplaced: step({
    say: ({ plane, source }: OfPlane & { source: "ours" | "given" | "changed" }) =>
      `${SOURCES[source](plane)}: members will trust both CAs before certificates of the new one are used`,
    example: { ...OF_PLANE, source: "changed" },
  }),
  AuthorityExpired: wait("CAExpired", {
    say: ({ plane, expiredAt }: OfExpired) =>
      `the ${plane} CA expired on ${dateTime(expiredAt)}: connections that are open last, and no process accepts a new one, so no member is restarted, added or replaced`,
    next: ({ given, lost }) =>
      lost.length > 0
        ? `The storage of ${list(lost)} loses its data when members stop, so the CA cannot be replaced: restore a snapshot into a new cluster.`
        : `${given ? "Put certificates of a valid CA into the Secrets that spec.tls names, or let cert-manager issue them, and set" : "Set"} spec.replicas to 0, wait for the phase Hibernated, and set it back: another CA takes the place of the expired one while no member runs, and all data is retained.`,
    example: { plane: "peer", expiredAt: Date.UTC(2036, 0, 2, 2, 30), given: false, lost: [] },
  }),
  AuthorityReplacedAsleep: step({
    say: ({ plane, expiredAt }: OfPlane & { expiredAt: number }) =>
      `the ${plane} CA expired on ${dateTime(expiredAt)} and no member runs: another CA takes its place; clients have to load the published CA and certificate again`,
    example: { ...OF_PLANE, expiredAt: Date.UTC(2036, 0, 2, 2, 30) },
  }),
  AuthorityAbandoned: step({
    say: ({ plane }: OfPlane) =>
      `the new ${plane} CA is no longer wanted, and no member serves a certificate of it: members will no longer trust it`,
    example: OF_PLANE,
  }),
  AuthorityReversed: step({
    say: ({ plane }: OfPlane) =>
      `the other ${plane} CA is wanted again, and members trust both: reversing the rotation`,
    example: OF_PLANE,
  }),
  AuthorityWaits: wait("RotatingCA", {
    say: ({ plane, members }: OfMembers) =>
      `${rotating(plane)}: another CA is requested; members are restarted to trust it when ${list(members)} ${members.length === 1 ? "is" : "are"} healthy and up to date`,
    example: OF_MEMBERS,
  }),
  AuthorityNeedsNewcomers: wait("RotatingCA", {
    say: ({ plane, members, why }: OfMembers & { why: string }) =>
      `${rotating(plane)}: another CA is requested, but the rotation has not started: ${list(members)} would lose data in a restart and must be replaced to trust it, and no member can be added: ${why}`,
    next: () =>
      "Put the previous certificates back, or undo the edit of spec.tls. To change the CA, first use one certificate of the previous CA that is valid for all members (mode Secrets, names with wildcards).",
    example: {
      ...OF_MEMBERS,
      why: "spec.tls.peer.secrets.member: Secret default/demo-peer, ca.crt is another CA than members trust",
    },
  }),
  AuthoritySwitched: step({
    say: ({ plane }: OfPlane) =>
      `every member accepts certificates of the new ${plane} CA: reissuing all certificates with it`,
    example: OF_PLANE,
  }),
  AuthorityRetired: step({
    say: ({ plane }: OfPlane) =>
      `every member serves a certificate of the new ${plane} CA: members will no longer trust the old one`,
    example: OF_PLANE,
  }),
  AuthorityRotated: step({
    say: ({ plane }: OfPlane) => `no member trusts the old ${plane} CA any more: the rotation is complete`,
    example: OF_PLANE,
  }),
  TrustRolling: wait("RotatingCA", {
    say: ({ plane, members }: OfMembers) =>
      `${rotating(plane)}: ${list(members)} must restart to trust the new CA`,
    example: OF_MEMBERS,
  }),
  TrustUnseen: wait("RotatingCA", {
    say: ({ plane, members }: OfMembers) =>
      `${rotating(plane)}: waiting for ${list(members)} to accept a certificate of the new CA`,
    example: OF_MEMBERS,
  }),
  BundleSoaks: wait("RotatingCA", {
    say: ({ plane, until }: OfPlane & { until: number }) =>
      `${rotating(plane)}: clients have until ${dateTime(until)} to trust the new CA (spec.tls.rotation.soak)`,
    example: { ...OF_PLANE, until: Date.UTC(2026, 0, 2, 2, 30) },
  }),
  LeavesUnseen: wait("RotatingCA", {
    say: ({ plane, members }: OfMembers) =>
      `${rotating(plane)}: waiting for ${list(members)} to serve a certificate of the new CA`,
    example: OF_MEMBERS,
  }),
  LeavesSoak: wait("RotatingCA", {
    say: ({ plane, until }: OfPlane & { until: number }) =>
      `${rotating(plane)}: clients have until ${dateTime(until)} to load a certificate of the new CA (spec.tls.rotation.soak)`,
    example: { ...OF_PLANE, until: Date.UTC(2026, 0, 2, 2, 40) },
  }),
  TrustDropping: wait("RotatingCA", {
    say: ({ plane, members }: OfMembers) =>
      `${rotating(plane)}: ${list(members)} must restart to stop trusting the old CA`,
    example: OF_MEMBERS,
  }),
} as const;
