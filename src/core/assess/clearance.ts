/**
 * What comes next for the volume of a member on its way out, where it is to be deleted: ask for it, wait for it, or leave
 * it behind and say where. Nothing waits for it for ever: a node that does not answer may never do so again.
 */
import { CAUSES } from "../messages/causes.ts";
import type { DataLeft } from "../observation.ts";
import { ownVolume, type MemberView, type View } from "../view.ts";

export type Clearance =
  | { readonly next: "delete"; readonly volumeUID: string }
  | { readonly next: "wait"; readonly where: string; readonly until: number }
  | ({ readonly next: "leave" } & DataLeft)
  | { readonly next: "none" };

/** Deleting a directory takes seconds; what takes longer than this hangs. */
const CLEARING_MS = 5 * 60_000;

export function clearanceOf(view: View, member: MemberView): Clearance {
  const { clearing, remains } = member.volume.state === "pending" ? member.volume : {};
  if (remains) return { next: "leave", ...remains };
  const until = clearing && clearing.since + CLEARING_MS;
  if (clearing && until !== undefined && view.now >= until)
    return {
      next: "leave",
      where: clearing.where,
      why: CAUSES.notDeletedWithin(CLEARING_MS / 60_000, clearing.why),
    };
  const volumeUID = ownVolume(member);
  if (volumeUID !== undefined) return { next: "delete", volumeUID };
  return clearing && until !== undefined ? { next: "wait", where: clearing.where, until } : { next: "none" };
}
