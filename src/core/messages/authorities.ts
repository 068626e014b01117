/** Messages of the rotation of a CA. */
import type { Plane } from "../observation.ts";
import { step, wait, type Names } from "./message.ts";
import { dateTime, list } from "./words.ts";

interface OfPlane {
  readonly plane: Plane;
}
interface OfMembers extends OfPlane {
  readonly members: Names;
}

const OF_PLANE: OfPlane = { plane: "client" };
const OF_MEMBERS: OfMembers = { plane: "peer", members: ["demo-2", "demo-3"] };
const rotating = (plane: Plane) => `rotating the ${plane} CA`;

export const AUTHORITIES = {
  AuthorityDue: step({
    say: ({ plane, expiresAt }: OfPlane & { expiresAt: number }) =>
      `the ${plane} CA expires on ${dateTime(expiresAt)}: creating its successor, which members will trust beside it`,
    example: { ...OF_PLANE, expiresAt: Date.UTC(2036, 0, 2, 2, 30) },
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
