/** What a recovery from the data of one member would do, and what it would cost. */
import { formatDuration } from "../../api/duration.ts";
import type { Names } from "./names.ts";
import { list, plural } from "./words.ts";

/** From the least to the most that it may be. */
interface Range {
  readonly least: number;
  readonly most: number;
}

export interface PlannedRecovery {
  readonly survivor: string;
  /** Which have to be off for it. */
  readonly nodesOff: Names;
  readonly revisions: Range;
  /** Whose data is lost. */
  readonly gone: Names;
  /** How many revisions; undefined where that is not known. */
  readonly lost: Range | undefined;
  readonly lostSeconds: number | undefined;
  readonly unread: readonly { readonly member: string; readonly why: string }[];
}

export function sayRecovery({
  survivor,
  nodesOff,
  revisions,
  gone,
  lost,
  lostSeconds,
  unread,
}: PlannedRecovery): string {
  const reach =
    revisions.least === revisions.most
      ? `revision ${revisions.least}`
      : `a revision from ${revisions.least} to ${revisions.most}`;
  const unknown = unread.map(({ member, why }) => `; what ${member} holds is not known: ${why}`).join("");
  const only =
    nodesOff.length === 0 ? "" : `only if ${list(nodesOff)} ${plural(nodesOff, "is", "are")} off, `;
  return `${only}${survivor} would be taken as the whole cluster, with ${reach}, and the other members rebuilt from it; ${sayLoss(lost, gone)}${saySeconds(lostSeconds)}${unknown}`;
}

function sayLoss(lost: Range | undefined, gone: Names): string {
  const only = `writes that only ${list(gone)} had are lost`;
  if (lost === undefined) return only;
  if (lost.most === 0) return `${only}; none is known of`;
  const count = lost.least === lost.most ? `${lost.most}` : `${lost.least} to ${lost.most}`;
  return `${only}: ${count} of the revisions that were seen`;
}

function saySeconds(most: number | undefined): string {
  if (most === undefined) return "";
  return `, and none of them was older than ${formatDuration(most * 1_000)} when quorum was lost`;
}

export function sayNodeSilent(node: string): string {
  return `${node} does not report`;
}

/** Where nothing tells more. */
export const VOLUME_AWAY = "its volume cannot be reached";

/** Why the version that the spec asks for cannot take over the data of a survivor, and what to do. */
export const UNFIT_VERSIONS = {
  cannotRaise: (wanted: string) =>
    `etcd ${wanted} cannot raise the revision of a snapshot, which a recovery needs: set spec.version to 3.5.10 or later`,
  otherMinor: (survivor: string, ran: string) =>
    `the data of ${survivor} was written by etcd ${ran}: set spec.version to that minor version first, and upgrade after the recovery`,
} as const;
