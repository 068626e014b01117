/**
 * `npm test`: the checks and every stage of stages/table.ts, then a table and one sum.
 * `npm test -- --stage etcd --file snapshot --name "a learner"` narrows it; `--fast` is the first three, with smaller
 * samples and without what they leave to the whole; `--all` runs every case where a test usually takes a sample, for
 * hours if need be; `--lanes 4` runs as many files with servers beside each other, whatever the load.
 */
import { matchesGlob } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { openRepo, type Repo } from "./check/repo.ts";
import { describeCheck } from "./check/report.ts";
import { checks, runChecks } from "./check/run.ts";
import { exitCodeOf, summary, type StageResult } from "./stages/result.ts";
import { runStages, type StageRun } from "./stages/run-stage.ts";
import { stages } from "./stages/table.ts";
import { terminalVoice, type Voice } from "./stages/voice.ts";

const options = {
  fast: { type: "boolean" },
  stage: { type: "string", multiple: true },
  file: { type: "string", multiple: true },
  name: { type: "string" },
  bail: { type: "boolean" },
  all: { type: "boolean" },
  lanes: { type: "string" },
} as const;

/** A sample is quick; the whole may take hours. */
const ALL_LIMITS = { testLimitMs: 2 * 3_600_000, processLimitMs: 4 * 3_600_000 };

process.exitCode = await main(process.argv.slice(2));

async function main(argv: string[]): Promise<number> {
  const chosen = parse(argv);
  if (typeof chosen === "string") {
    process.stderr.write(`${chosen}\n`);
    return 2;
  }
  if (chosen.all) process.env["QUORATE_ALL"] = "1";
  if (chosen.fast) process.env["QUORATE_FAST"] = "1";
  const started = performance.now();
  const voice = terminalVoice(process.stdout);
  const repo = openRepo(fileURLToPath(new URL("..", import.meta.url)));
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop.abort());

  const results: StageResult[] = [];
  const isWanted = () =>
    !stop.signal.aborted && !(chosen.bail && exitCodeOf(results, false) !== 0 && results.length > 0);
  const checking = wants(chosen, "check") && !chosen.file && chosen.name === undefined;
  const beside = checking ? [{ speaker: "check", run: (reported: Voice) => checkStage(repo, reported) }] : [];
  const { signal } = stop;
  const narrow = chosen.name === undefined ? {} : { namePattern: chosen.name };
  for (const [index, batch] of batches(chosen, repo).entries()) {
    if (!isWanted()) break;
    voice.say("");
    const runs = batch.map((one) => ({ ...one, root: repo.root, signal, ...narrow }));
    results.push(
      ...(await runStages({
        runs,
        voice,
        beside: index === 0 ? beside : [],
        ...(chosen.bail && { bail: true }),
        ...(chosen.lanes !== undefined && { lanes: Number(chosen.lanes) }),
      })),
    );
  }

  if (results.length === 0) {
    voice.say("no stage has a test file that matches");
    return 1;
  }
  const failures = results.flatMap((one) => one.failures);
  if (failures.length > 0) voice.say(`\nfailed:\n${failures.map((line) => `  ✖ ${line}`).join("\n")}`);
  const flaky = results.flatMap((one) => one.flaky);
  if (flaky.length > 0)
    voice.say(`\nfailed once, passed alone:\n${flaky.map(({ text }) => `  ⚠ ${text}`).join("\n")}`);
  voice.say(`\n${summary(results, performance.now() - started)}`);
  if (stop.signal.aborted) return 130;
  return exitCodeOf(results, isCi(process.env["CI"]));
}

/** The stages that are wanted and have files: those without servers, then those with them. */
function batches(chosen: Chosen, repo: Repo): Pick<StageRun, "stage" | "files">[][] {
  const found = stages.flatMap((stage) => {
    if (!wants(chosen, stage.id) || (chosen.fast && !stage.fast)) return [];
    const files = repo.files.filter(
      (path) =>
        stage.files.some((glob) => matchesGlob(path, glob)) &&
        !(chosen.fast && stage.notFast?.some((glob) => matchesGlob(path, glob))) &&
        (!chosen.file || chosen.file.some((part) => path.includes(part))),
    );
    const limits = chosen.all ? ALL_LIMITS : {};
    return files.length === 0 ? [] : [{ stage: { ...stage, ...limits }, files }];
  });
  const kinds = (["together", "apart"] as const).map((kind) =>
    found.filter(({ stage }) => stage.processes === kind),
  );
  // Without any stage there may still be the checks.
  return found.length === 0 ? [[]] : kinds.filter((batch) => batch.length > 0);
}

type Chosen = ReturnType<typeof parseArgs<{ options: typeof options }>>["values"];

/** The options, or what is wrong with them. */
function parse(args: string[]): Chosen | string {
  try {
    const { values } = parseArgs({ args, options });
    const known = ["check", ...stages.map(({ id }) => id)];
    const unknown = values.stage?.find((id) => !known.includes(id));
    if (values.lanes !== undefined && !/^[1-8]$/.test(values.lanes)) return "--lanes is a number from 1 to 8";
    return unknown === undefined ? values : `no stage ${unknown}: one of ${known.join(", ")}`;
  } catch (error) {
    return (error as Error).message;
  }
}

function wants(chosen: Chosen, id: string): boolean {
  return !chosen.stage || chosen.stage.includes(id);
}

/** Each check counts as a test. */
async function checkStage(repo: Repo, voice: Voice): Promise<StageResult> {
  const started = performance.now();
  voice.say("▶ check");
  const results = await runChecks(repo, checks, (result) =>
    voice.say(describeCheck(result).replaceAll(/^/gm, "  ")),
  );
  const failed = results.filter((one) => one.findings.length > 0);
  return {
    title: "check",
    tests: results.length,
    passed: results.length - failed.length,
    failed: failed.length,
    skipped: 0,
    todo: 0,
    ms: performance.now() - started,
    failures: failed.map(({ name, findings }) => `check: ${name} (${findings.length})`),
    flaky: [],
  };
}

function isCi(value: string | undefined): boolean {
  return value !== undefined && value !== "" && value !== "false" && value !== "0";
}
