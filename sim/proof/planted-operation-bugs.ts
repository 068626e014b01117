/** Faults by which operations do more than was asked, again and again, or to the wrong member. The same rules hold as for planted-bugs.ts. */
import type { PlantedBug } from "./planted-bugs.ts";

export const plantedOperationBugs: readonly PlantedBug[] = [
  {
    name: "leadership is moved to a member that is ill",
    breaks: "R10",
    file: "src/core/assess/successor.ts",
    find: "(member) => member !== leader && member.isVoter && member.healthy && !member.record.retiring,",
    replace: "(member) => member !== leader && member.isVoter && !member.record.retiring,",
  },
  {
    name: "two operations of one cluster run at once",
    breaks: "I2",
    file: "src/core/operations/table.ts",
    find: 'return open.find(({ status }) => status.phase === "Running") ?? open[0];',
    replace: 'return open.find(({ status }) => status.phase !== "Running") ?? open[0];',
  },
  {
    name: "the request to replace a member is written on every pass",
    breaks: "I7",
    file: "src/core/operations/replace-member.ts",
    find: "if (!leaving && !retiring?.requested) {",
    replace: "if (!leaving) {",
  },
  {
    name: "leadership is moved again and again to who leads",
    breaks: "I8",
    file: "src/core/operations/move-leader.ts",
    find: "if (target.isLeader) return succeeded(`${name} leads`);",
    replace: "",
  },
  {
    name: "the steps of an operation that were done are forgotten at the next one",
    breaks: "I8",
    file: "src/core/operations/status.ts",
    find: "...(before.steps ?? []),",
    replace: "",
  },
  {
    name: "an operation that runs is started again on every pass",
    breaks: "I8",
    file: "src/core/rules/operations.ts",
    find: 'if (operation.status.phase !== "Running")',
    replace: "if (!isFinished(operation))",
  },
  {
    name: "finished operations are never deleted",
    breaks: "I8",
    file: "src/core/rules/operations.ts",
    find: "at <= view.now\n",
    replace: "at <= 0\n",
  },
  {
    name: "a rejected operation counts as one that was never looked at",
    breaks: "I8",
    file: "src/core/operations/status.ts",
    find: '  "Rejected",\n',
    replace: "",
  },
  {
    name: "a new CA signs before members were seen to accept it",
    breaks: "R45",
    file: "src/core/rules/rotate-authorities.ts",
    find: "const unseen = trusting(view, plane).filter(({ trust }) => trust?.[plane]?.accepts !== other);",
    replace: "const unseen: MemberView[] = [];",
  },
  {
    name: "a new CA signs before every record names it",
    breaks: "R45",
    file: "src/core/rules/rotate-authorities.ts",
    find: "const lacking = trusting(view, plane).filter((member) => !runsWith(member, plane, [current, other]));",
    replace: "const lacking: MemberView[] = [];",
  },
  {
    name: "the old CA is dropped while members still show its certificates",
    breaks: "R45",
    file: "src/core/rules/rotate-authorities.ts",
    find: "const unseen = showing(view, plane).filter(({ trust }) => trust?.[plane]?.shows !== current);",
    replace: "const unseen: MemberView[] = [];",
  },
  {
    name: "members are started with the new CA alone",
    breaks: "R45",
    file: "src/core/template/effective.ts",
    find: "return [authority.current, ...otherOf(authority)];",
    replace: "return otherOf(authority);",
  },
];
