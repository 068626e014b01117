/** What the random runs found, each kept in test/seeds and replayed by the tests, as a table for docs/proof.md. */
import { readdir, readFile } from "node:fs/promises";
import type { Kept } from "../kept-file.ts";

const SEEDS = new URL("../../test/seeds/", import.meta.url);

/** test/seeds/rules.json: seeds of the rules' runs that once went wrong, by a fault in the rules or in the model. */
export interface KeptSeeds {
  readonly rules: readonly {
    readonly seed: number;
    /** Whether the operator is also denied sight and workloads in this run; seeds from before do not draw it. */
    readonly denied?: boolean;
    /** Whether people also fence members in this run; seeds from before do not draw it. */
    readonly fenced?: boolean;
    readonly found: string;
  }[];
}

type KeptRun = Kept<{ readonly seed: number }>;

const readJSON = async (name: string): Promise<unknown> =>
  JSON.parse(await readFile(new URL(name, SEEDS), "utf8"));

export async function keptTable(): Promise<string> {
  const { rules } = (await readJSON("rules.json")) as KeptSeeds;
  const files = (await readdir(SEEDS)).filter((name) => name !== "rules.json").toSorted();
  const runs = await Promise.all(
    files.map(async (name) => ({ name, ...((await readJSON(name)) as KeptRun) })),
  );
  return [
    "| runs of | seed | what was found |",
    "| --- | ---: | --- |",
    ...rules.map(({ seed, found }) => `| the rules | ${seed} | ${found} |`),
    ...runs.map(
      ({ name, kind = "operator", found, schedule }) =>
        `| the ${kind} (\`${name}\`) | ${schedule.seed} | ${found} |`,
    ),
  ].join("\n");
}
