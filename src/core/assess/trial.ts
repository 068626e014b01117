/**
 * A template that is new to the cluster is tried by one running member first: the next one follows when the first was
 * seen well with it. Members whose process has ended have nothing to lose and do not wait (I8).
 */
import { sameContent } from "../template/hash.ts";
import { seemsHealthy } from "./out-of-reach.ts";
import { exitOf } from "./exit-causes.ts";
import type { MemberTemplate } from "../record.ts";
import { sameTemplate } from "../template/template.ts";
import type { MemberView, View } from "../view.ts";

/** The member that was given this template before and was not seen well with it yet: `member`, which runs, waits for it. */
export function triedBy(view: View, member: MemberView, template: MemberTemplate): MemberView | undefined {
  const others = othersWith(view, member, template);
  return others.some((other) => runsWell(view, other)) ? undefined : others[0];
}

/** The same for one that has the template in its record and is about to restart: those that have done so come first. */
export function restartedBefore(view: View, member: MemberView): MemberView | undefined {
  const others = othersWith(view, member, member.record.template).filter(({ upToDate }) => upToDate);
  return others.some((other) => runsWell(view, other)) ? undefined : others[0];
}

function othersWith(view: View, member: MemberView, template: MemberTemplate): MemberView[] {
  // Before the cluster exists nobody serves anything.
  if (!view.established || member.workload.state !== "running") return [];
  return view.staying.filter(
    (other) =>
      other !== member &&
      other.record.run &&
      !other.record.retiring &&
      sameTemplate(other.record.template, template) &&
      // Its own data, or its place in the cluster, is lost: that says nothing about the template.
      exitOf(other)?.cure !== "replacement" &&
      !isWithoutNode(view, other),
  );
}

/** Without a quorum nobody can be healthy: then it is enough that its process serves what needs none. */
function runsWell(view: View, member: MemberView): boolean {
  if (!member.upToDate) return false;
  return seemsHealthy(member) || (!view.hasQuorum && (member.answer.reachable || member.alive === true));
}

/**
 * Its node is gone, or none takes it, and that is not for the template: one that runs with another asks the same of its
 * node. It may never come to try anything.
 */
function isWithoutNode(view: View, { workload, record }: MemberView): boolean {
  if (workload.state === "stopping") return workload.lostNode !== undefined;
  if (workload.state !== "waiting" || workload.unschedulable !== true) return false;
  return view.staying.some(
    (other) =>
      other.workload.state === "running" &&
      !sameTemplate(other.record.template, record.template) &&
      sameContent(other.record.template.pod, record.template.pod),
  );
}
