/**
 * An edit that was taken back: a member that was to be replaced is what the spec asks for again. It stays, and
 * whoever came to take its place goes, as one too many.
 */
import { act, update } from "../steps/outcome.ts";
import type { Rule } from "../rule.ts";
import { targetOf } from "../template/target.ts";
import { sameTemplate } from "../template/template.ts";

export const stay: Rule = (view) => {
  if (!view.established || !view.staying.some(({ record }) => record.retiring)) return [];
  const { template } = targetOf(view);
  const member = view.staying.find(
    ({ record, healthy, upToDate, deleting, volume }) =>
      record.retiring &&
      !record.retiring.requested &&
      healthy &&
      upToDate &&
      !deleting &&
      !(volume.state === "ready" && volume.tooSmall !== undefined) &&
      template &&
      sameTemplate(record.template, template),
  );
  if (!member) return [];
  return [
    act("revert", "MemberStays", { member: member.name }, update(member, "stay", { retiring: undefined })),
  ];
};
