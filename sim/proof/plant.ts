/** Plants a known fault in memory: the files that it changes, as they would read with it. */
import { readFile } from "node:fs/promises";
import { plantedAuthBugs } from "./planted-auth-bugs.ts";
import { plantedBugs, type PlantedBug } from "./planted-bugs.ts";
import { plantedClockBugs } from "./planted-clock-bugs.ts";
import { plantedDataBugs } from "./planted-data-bugs.ts";
import { plantedHarmBugs } from "./planted-harm-bugs.ts";
import { plantedOperationBugs } from "./planted-operation-bugs.ts";
import { plantedOperatorBugs } from "./planted-operator-bugs.ts";
import { root } from "./run-tool.ts";

/** For `--list`. */
export const lists: Readonly<Record<string, readonly PlantedBug[]>> = {
  rules: plantedBugs,
  operator: plantedOperatorBugs,
  harm: plantedHarmBugs,
  clocks: plantedClockBugs,
  operations: plantedOperationBugs,
  auth: plantedAuthBugs,
  data: plantedDataBugs,
};

export const allPlanted: readonly PlantedBug[] = Object.values(lists).flat();

export async function plant({ name, also, ...edit }: PlantedBug): Promise<Record<string, string>> {
  const replaced: Record<string, string> = {};
  for (const { file, find, replace } of also ? [edit, also] : [edit]) {
    const text = replaced[file] ?? (await readFile(`${root}/${file}`, "utf8"));
    const found = text.split(find).length - 1;
    if (found !== 1)
      throw new RangeError(
        `${name}: the text to replace occurs ${found} times in ${file}: write the fault again`,
      );
    replaced[file] = text.replace(find, () => replace);
  }
  return replaced;
}
