/**
 * What a directory holds in a few words, for whoever decides what to recover; and the same as one line of JSON, which a
 * container leaves as its termination message (at most 4096 bytes) for a reader elsewhere.
 */
import type { DirectoryFacts } from "./directory.ts";

export type DirectorySummary = WhatItHolds & {
  /** Beside it: where an etcd that was started alone from it has its data, which may be newer. */
  readonly alone?: string | undefined;
};

type WhatItHolds =
  | { readonly state: "empty" }
  | { readonly state: "damaged"; readonly why: string }
  | {
      readonly state: "data";
      readonly clusterID: string;
      readonly memberID: string;
      /** Of the last entry of its log. */
      readonly term: number;
      readonly index: number;
      readonly revision: number;
      /** Entries that a start adds to the database. */
      readonly replay: number;
      /** The member list in the database; absent where it is too long for a termination message. */
      readonly members?: readonly SummaryMember[] | undefined;
    };

export interface SummaryMember {
  readonly id: string;
  readonly name: string;
  readonly peerURL: string;
  readonly isLearner?: boolean | undefined;
}

const LONGEST_WHY = 900;
/** Of all members together, in bytes: a kubelet cuts a message off after 4096. */
const LONGEST_LIST = 3_600;

export function summaryOf(found: DirectoryFacts, alone?: string): DirectorySummary {
  return { ...whatItHolds(found), ...(alone !== undefined && { alone }) };
}

function whatItHolds(found: DirectoryFacts): WhatItHolds {
  if (found.state === "empty") return { state: "empty" };
  if (found.state === "damaged") return { state: "damaged", why: found.why.slice(0, LONGEST_WHY) };
  const { clusterID, memberID, last } = found.log;
  const { revision, consistentIndex } = found.database;
  const replay = Math.max(0, last.index - consistentIndex);
  const list = found.database.members.map(({ id, name, peerURLs, isLearner }) => ({
    id,
    name,
    peerURL: peerURLs[0] ?? "",
    ...(isLearner && { isLearner }),
  }));
  const fits = Buffer.byteLength(JSON.stringify(list)) <= LONGEST_LIST;
  return {
    state: "data",
    clusterID,
    memberID,
    term: last.term,
    index: last.index,
    revision,
    replay,
    ...(fits && { members: list }),
  };
}

export function writeSummary(summary: DirectorySummary): string {
  return `${JSON.stringify({ directory: summary })}\n`;
}

const TEXTS = ["clusterID", "memberID"] as const;
const NUMBERS = ["term", "index", "revision", "replay"] as const;

/** Undefined for anything else: a container can end with any words. */
export function parseSummary(text: string | undefined): DirectorySummary | undefined {
  if (!text?.startsWith("{")) return undefined;
  let found: unknown;
  try {
    ({ directory: found } = JSON.parse(text) as { directory?: unknown });
  } catch {
    return undefined;
  }
  if (typeof found !== "object" || found === null) return undefined;
  const fields = found as Record<string, unknown>;
  const alone = typeof fields["alone"] === "string" ? { alone: fields["alone"] } : {};
  if (fields["state"] === "empty") return { state: "empty", ...alone };
  if (fields["state"] === "damaged")
    return typeof fields["why"] === "string" ? { state: "damaged", why: fields["why"], ...alone } : undefined;
  const isWhole =
    fields["state"] === "data" &&
    TEXTS.every((name) => typeof fields[name] === "string") &&
    NUMBERS.every((name) => Number.isSafeInteger(fields[name]));
  if (!isWhole) return undefined;
  const { members: listed, ...rest } = found as Extract<DirectorySummary, { state: "data" }>;
  const members = Array.isArray(listed) && listed.every(isMember) ? listed : undefined;
  return { ...rest, ...(members && { members }) };
}

function isMember(value: unknown): value is SummaryMember {
  if (typeof value !== "object" || value === null) return false;
  const fields = value as Record<string, unknown>;
  return ["id", "name", "peerURL"].every((name) => typeof fields[name] === "string");
}
