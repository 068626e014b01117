/**
 * `npm run sim:exhaustive [-- --members 3|5] [--limit N] [--family text] [--quick]`: every state that the rules
 * can get a cluster into, judged. `--limit` bounds the states that are gone on from, per family.
 */
import process from "node:process";
import { parseArgs } from "node:util";
import { QUICK, UP_TO_3, UP_TO_5 } from "./families.ts";
import { search, type Finding, type Found } from "./search.ts";

const { values } = parseArgs({
  options: {
    members: { type: "string", default: "3" },
    limit: { type: "string" },
    seconds: { type: "string" },
    family: { type: "string" },
    quick: { type: "boolean", default: false },
  },
});
const say = (line: string) => void process.stdout.write(`${line}\n`);

process.exitCode = main();

function main(): number {
  const all = values.quick ? QUICK : values.members === "5" ? UP_TO_5 : UP_TO_3;
  const families = all.filter(({ name }) => name.includes(values.family ?? ""));
  if (families.length === 0) {
    say(
      `no family's name has ${JSON.stringify(values.family)} in it: ${all.map(({ name }) => name).join("; ")}`,
    );
    return 2;
  }
  const limits = {
    ...(values.limit !== undefined && { states: Number(values.limit) }),
    ...(values.seconds !== undefined && { ms: Number(values.seconds) * 1000 }),
  };
  say(
    "family                     edits faults    states transitions depth violations dead ends circles  time",
  );
  const found = families.map((family) => {
    const result = search(family, limits);
    const { name, edits, faults } = family;
    const cells = [
      name.padEnd(26),
      String(edits).padStart(5),
      String(faults).padStart(6),
      String(result.states).padStart(9),
      String(result.transitions).padStart(11),
      String(result.depth).padStart(5),
      String(result.violations.length).padStart(10),
      (result.complete ? String(result.deadEnds) : "unknown").padStart(9),
      String(result.livelocks).padStart(7),
      `${(result.ms / 1000).toFixed(1)} s`.padStart(7),
    ];
    say(`${cells.join(" ")}${result.complete ? "" : "  (stopped at the limit)"}`);
    for (const finding of [...result.violations, ...result.examples]) tell(finding);
    return result;
  });
  const sum = (pick: (one: Found) => number) => found.reduce((total, one) => total + pick(one), 0);
  const [violations, dead, circles] = [
    sum((one) => one.violations.length),
    sum((one) => one.deadEnds),
    sum((one) => one.livelocks),
  ];
  say(
    `${sum((one) => one.states)} states, ${sum((one) => one.transitions)} transitions, ${violations} violations, ` +
      `${dead} dead ends, ${circles} circles, ${(sum((one) => one.ms) / 1000).toFixed(1)} s`,
  );
  return violations + dead + circles === 0 ? 0 : 1;
}

function tell({ what, path }: Finding): void {
  say(`\n  ${what}, after ${path.length} steps:`);
  for (const line of path) say(`    ${line}`);
}
