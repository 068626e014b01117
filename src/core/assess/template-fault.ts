/** Whether a member fails by what it was told to run, and what its siblings run instead. */
import type { MemberTemplate } from "../record.ts";
import { lastGood } from "../template/target.ts";
import { sameTemplate, transition } from "../template/template.ts";
import type { MemberView, View } from "../view.ts";
import { exitOf, meaningOf } from "./exit-causes.ts";
import { lastEndOf } from "./trouble.ts";

/**
 * Its siblings run something else, and what it ended with or waits for speaks of its template. It has data that is
 * worth keeping, and one in its place would be given the same template and fail like it.
 */
export function failsByTemplate(view: View, member: MemberView): boolean {
  const { record } = member;
  // For a moment it runs again: what ended it the last time will do so again.
  const last = lastEndOf(member);
  const again = last !== undefined && meaningOf(last.cause).cure === "template";
  if (!record.joined || !(again || isTemplateFault(member) || lacksImage(member))) return false;
  const good = fitted(member, lastGood(view, member));
  return good !== undefined && !sameTemplate(record.template, good);
}

export function isTemplateFault(member: MemberView): boolean {
  return exitOf(member)?.cure === "template";
}

/** It ran, and its new image cannot be had; a node or a volume that is missing is no fault of the template. */
export function lacksImage({ workload, record }: MemberView): boolean {
  return record.joined && workload.state === "waiting" && workload.badImage === true;
}

/** What the siblings run, on the volume that it has: theirs may be of the class that it was to leave. */
export function fitted({ record }: MemberView, good: MemberTemplate | undefined): MemberTemplate | undefined {
  if (!good || transition(record.template, good, { hasData: record.joined }) !== "swap") return good;
  return { ...good, storage: record.template.storage };
}
