/**
 * Which path tells a member's health, by version: `/livez` and `/readyz` came with 3.4.29, 3.5.11 and 3.6 (R34).
 */
import type { MemberRecord } from "../../core/record.ts";
import { version as parsed } from "../../core/version/version.ts";

export interface HealthPaths {
  /** Undefined where etcd has none that holds without a leader: then an open port has to do. */
  readonly live?: string;
  readonly ready: string;
}

/** The first patch of a minor that has them; later minors have them from their first. */
const FIRST_PATCH: Readonly<Record<number, number>> = { 4: 29, 5: 11 };

export function healthPaths(
  version: string,
  { boot, role }: Pick<MemberRecord, "boot" | "role">,
): HealthPaths {
  const { minor, patch } = parsed(version);
  // Without a leader `/health` of these fails, whatever it is asked for, and that is no reason to end etcd (R35).
  if (patch < (FIRST_PATCH[minor] ?? 0)) return { ready: "/health?exclude=NOSPACE&exclude=CORRUPT" };
  // CORRUPT is raised on the whole cluster while reads go on: it must not take every endpoint away (R31, H12).
  // Who joins in order to vote is ready once it does. A standing learner serves as one; and a founder votes from the
  // start, but panics over this question (which etcd survives, loudly) until it has a leader.
  const waitsForVote = boot === "Join" && role === "Voter";
  const excluded = ["data_corruption", ...(waitsForVote ? [] : ["non_learner"])];
  return { live: "/livez", ready: `/readyz?${excluded.map((check) => `exclude=${check}`).join("&")}` };
}
