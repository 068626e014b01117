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
];
