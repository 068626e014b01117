/**
 * A process that judges mutants: every question imports the tests it names anew, with one module replaced, and runs
 * them. Modules of src/core and its tests carry the number of the question in their URL; everything else is shared and stays.
 * Node's coverage tells, once, which test files reach which place.
 */
import { readFileSync } from "node:fs";
import { Session, type Profiler } from "node:inspector/promises";
import { registerHooks, stripTypeScriptTypes } from "node:module";
import process from "node:process";
import fc from "fast-check";
import { systemClock } from "../../src/seams/clock.ts";
import type { Mutant } from "./mutants.ts";
import { runCollected } from "./test-shim.ts";

export interface Question {
  readonly id: string;
  readonly mutant?: Pick<Mutant, "file" | "start" | "end" | "text">;
  readonly tests: readonly string[];
}

export interface Answer {
  readonly id: string;
  /** The test that failed. Undefined: the mutant lives. */
  readonly killedBy?: string;
  readonly ms: number;
  /** Without a mutant: what each file's code reached, as `start:end:count` of functions and blocks. */
  readonly reached?: Readonly<Record<string, readonly Profiler.CoverageRange[]>>;
}

const root = new URL("../../", import.meta.url).href;
const core = `${root}src/core/`;
/** What has to be imported anew with it: the tests, the search, and what joins the two. */
const renewed = [core, `${root}src/control/`, `${root}sim/rules/exhaustive/`];
const isRenewed = (url: string | undefined) => renewed.some((folder) => url?.startsWith(folder));
const shim = new URL("test-shim.ts", import.meta.url).href;
const stripped = new Map<string, string>();
const mutants = new Map<string, NonNullable<Question["mutant"]>>();

// Runs that chance decides about would make a different list of survivors each time.
fc.configureGlobal({ seed: 1 });

registerHooks({
  resolve(specifier, context, nextResolve) {
    if (specifier === "node:test" && isRenewed(context.parentURL)) return { url: shim, shortCircuit: true };
    const resolved = nextResolve(specifier, context);
    const run = /\?m=(.*)$/.exec(context.parentURL ?? "")?.[1];
    return run !== undefined && isRenewed(resolved.url) && !resolved.url.includes("?")
      ? { ...resolved, url: `${resolved.url}?m=${run}` }
      : resolved;
  },
  load(url, context, nextLoad) {
    const [path = "", run] = url.split("?m=");
    if (run === undefined) return nextLoad(url, context);
    const mutant = mutants.get(run);
    if (mutant && path === `${root}${mutant.file}`) {
      const text = readFileSync(new URL(path), "utf8");
      const source = `${text.slice(0, mutant.start)}${mutant.text}${text.slice(mutant.end)}`;
      return { format: "module", source: stripTypeScriptTypes(source), shortCircuit: true };
    }
    let source = stripped.get(path);
    if (source === undefined) {
      source = stripTypeScriptTypes(readFileSync(new URL(path), "utf8"));
      stripped.set(path, source);
    }
    return { format: "module", source, shortCircuit: true };
  },
});

const session = new Session();
session.connect();

async function judge({ id, mutant, tests }: Question): Promise<Answer> {
  const began = systemClock.monotonic();
  if (mutant) mutants.set(id, mutant);
  else await session.post("Profiler.enable");
  if (!mutant) await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  let killedBy: string | undefined;
  for (const file of tests) {
    try {
      await import(`${root}${file}?m=${id}`);
    } catch (error) {
      killedBy = `${file} cannot be imported: ${(error as Error).message.split("\n")[0]}`;
    }
    killedBy ??= await runCollected();
    if (killedBy !== undefined) {
      killedBy = `${file}: ${killedBy}`;
      break;
    }
  }
  const ms = systemClock.monotonic() - began;
  if (mutant) return { id, ms, ...(killedBy !== undefined && { killedBy }) };
  const { result } = await session.post("Profiler.takePreciseCoverage");
  await session.post("Profiler.stopPreciseCoverage");
  const reached: Record<string, Profiler.CoverageRange[]> = {};
  for (const { url, functions } of result) {
    if (!url.startsWith(core) || !url.endsWith(`?m=${id}`)) continue;
    const file = url.slice(root.length).split("?")[0] ?? "";
    reached[file] = functions.flatMap(({ ranges }) => ranges);
  }
  return { id, ms, reached, ...(killedBy !== undefined && { killedBy }) };
}

process.on("message", (question: Question) => {
  void judge(question).then((answer) => process.send?.(answer));
});
process.on("disconnect", () => process.exit(0));
