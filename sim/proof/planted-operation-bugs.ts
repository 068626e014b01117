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
    name: "an operation moves leadership to a member that fell ill meanwhile",
    breaks: "R10",
    file: "src/core/operations/move-leader.ts",
    find: "if (unfit) return failed(...unfit);",
    replace: "if (unfit && !target.isVoter) return failed(...unfit);",
  },
  {
    name: "two operations of one cluster run at once",
    breaks: "I2",
    file: "src/core/operations/table.ts",
    find: 'return open.find(({ status }) => status.phase === "Running") ?? open[0];',
    replace: 'return open.find(({ status }) => status.phase !== "Running") ?? open[0];',
  },
  {
    name: "a replacement that was asked for is taken back because the member matches the spec",
    breaks: "I8",
    file: "src/core/rules/stay.ts",
    find: "!record.retiring.requested &&",
    replace: "",
  },
  {
    name: "a rejected operation is judged again and again",
    breaks: "I7",
    file: "src/core/operations/status.ts",
    find: "return FINAL.has(status.phase);",
    replace: 'return FINAL.has(status.phase) && status.phase !== "Rejected";',
  },
  {
    name: "a restart is asked for again once it has happened",
    breaks: "I7",
    file: "src/core/operations/restart.ts",
    find: "? { done: { member: name, message: `restarted ${name}` } }",
    replace: "? undefined",
  },
];
