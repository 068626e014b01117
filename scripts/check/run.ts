/**
 * Runs checks, as many at a time as there are cores to spare, and tells each answer as it comes.
 * A check that throws has failed; the others still run.
 */
import { generators } from "../generators.ts";
import { reasonsNow } from "../generate/published-reasons.ts";
import { audit } from "./audit.ts";
import type { Check } from "./check.ts";
import { commits } from "./commits.ts";
import { documents } from "./documents.ts";
import { cleanText, fileSize, introductions } from "./files.ts";
import { generatedFiles } from "./generated.ts";
import { importDirections } from "./imports.ts";
import { labels } from "./labels.ts";
import { lock } from "./lock.ts";
import type { Repo } from "./repo.ts";
import { keptReasons } from "./reasons.ts";
import { ruleTests } from "./rule-tests.ts";
import { seams } from "./seams.ts";
import { deadCode, format, lint, types } from "./tools.ts";
import { sentences } from "./sentences.ts";
import { words } from "./words.ts";
import { workflows } from "./workflows.ts";

/** The slow ones first, so that they overlap. */
export const checks: readonly Check[] = [
  deadCode,
  types,
  lint,
  generatedFiles(generators),
  format,
  importDirections,
  seams,
  fileSize,
  introductions,
  ruleTests,
  keptReasons(reasonsNow()),
  cleanText,
  labels,
  words,
  sentences,
  documents,
  commits,
  lock,
  workflows,
  audit,
];

export interface CheckResult {
  readonly name: string;
  readonly findings: readonly string[];
  readonly notes?: readonly string[];
  readonly ms: number;
}

const AT_A_TIME = 3;

export async function runChecks(
  repo: Repo,
  list: readonly Check[],
  tell: (result: CheckResult) => void,
): Promise<CheckResult[]> {
  const results: CheckResult[] = [];
  const waiting = [...list];
  const work = async () => {
    for (let check = waiting.shift(); check; check = waiting.shift()) {
      const started = performance.now();
      const notes: string[] = [];
      let findings: string[];
      try {
        findings = await check.run(repo, (text) => notes.push(text));
      } catch (error) {
        findings = [`the check itself failed: ${error instanceof Error ? error.stack : String(error)}`];
      }
      const result = { name: check.name, findings, notes, ms: performance.now() - started };
      results.push(result);
      tell(result);
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, work));
  return results;
}
