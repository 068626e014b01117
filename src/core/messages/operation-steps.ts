/**
 * What an operation is about to do, and what it has done, as its status keeps it for people. What the handlers go by are
 * the fields beside these words.
 */
import type { Plane } from "../facts/authority-facts.ts";
import type { Names } from "./names.ts";
import { list, mebibytes, plural } from "./words.ts";

/** Said when it starts. */
export const TASKS = {
  compact: (revision: number) => `compact up to revision ${revision}`,
  defragment: (members: Names) => `defragment ${list(members)}`,
  moveLeader: (member: string) => `move leadership to ${member}`,
  recover: (survivor: string, nodesOff: Names) =>
    `recover from the data of ${survivor}${saySaidOff(nodesOff)}`,
  replace: (member: string) => `replace ${member}`,
  restart: (members: Names) => `restart ${list(members)}`,
  restore: (source: string, nodesOff: Names) => `replace all data by ${source}${saySaidOff(nodesOff)}`,
  reissue: (members: Names) =>
    `reissue the certificates of ${list(members)}, of the operator and of the users`,
  rotate: (planes: readonly Plane[]) => `rotate the ${planes.join(" and the ")} CA`,
  replaceTokenKey: "replace the key of auth tokens",
} as const;

/** Where the snapshot is that a cluster was recovered from. */
export type KeptPlace =
  | { readonly on: "claim"; readonly path: string; readonly claim: string }
  | { readonly on: "machine"; readonly path: string; readonly node: string | undefined };

interface Recovered {
  readonly survivor: string;
  readonly revision: number;
  readonly kept: KeptPlace | undefined;
}

/** Noted as a step. */
export const DONE = {
  defragmented: (member: string, size: number | undefined) =>
    `defragmented ${member}${size === undefined ? "" : `; its database file has ${mebibytes(size)}`}`,
  notDefragmentedGone: (member: string) => `${member} is no longer a member: not defragmented`,
  notDefragmentedLearner: (member: string) => `${member} is a learner now: not defragmented`,
  notDefragmentedLarge: (member: string) => `${member} has grown too large: not defragmented`,
  fetched: (source: string, revision: number, sha256: string) =>
    `fetched and checked ${source}: revision ${revision}, SHA-256 ${sha256}`,
  recovered: ({ survivor, revision, kept }: Recovered) =>
    `recovered from the data of ${survivor}, which reached revision ${revision}${kept === undefined ? "" : `; its snapshot is kept ${sayPlace(kept)}`}`,
  restored: (source: string, revision: number) =>
    `restored ${source}, whose revision was ${revision}; the volumes of the former members are kept`,
  replacementRequested: (member: string) => `requested the replacement of ${member}`,
  restarted: (member: string) => `restarted ${member}`,
  goneBeforeRestart: (member: string) => `${member} was replaced by a new member, or removed`,
  reissued: (member: string) => `reissued the certificates of ${member}`,
  reissuedForClients: "reissued the certificates of the operator and of the users",
  goneBeforeReissue: (member: string) => `${member} is no longer a member`,
} as const;

function sayPlace(kept: KeptPlace): string {
  if (kept.on === "claim") return `as ${kept.path} on the claim ${kept.claim}`;
  return `as ${kept.path}${kept.node === undefined ? "" : ` on ${kept.node}`}`;
}

/** Who says so: nobody can see it. As the rest of a sentence. */
export function saySaidOff(nodes: Names): string {
  return nodes.length === 0
    ? ""
    : `; ${list(nodes)} ${plural(nodes, "was", "were")} said to be off in the approval`;
}
