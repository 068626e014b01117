/** What controllers of a test did, as text: for expectations about the order of steps, and for a failed test's message. */
import type { Pass } from "../../src/control/loop.ts";
import { describeEntry, type TranscriptEntry } from "../../src/control/transcript.ts";

/** `kind/purpose member`. */
export function nameOf({ step, member }: TranscriptEntry): string {
  return member === undefined ? step : `${step} ${member}`;
}

/** True when the steps happened in this order, others between them. */
export function inOrder(done: readonly string[], ...wanted: readonly (string | RegExp)[]): boolean {
  let at = 0;
  for (const want of wanted) {
    const isIt = (step: string) => (typeof want === "string" ? step === want : want.test(step));
    const found = done.findIndex((step, index) => index >= at && isIt(step));
    if (found < 0) return false;
    at = found + 1;
  }
  return true;
}

/** What happened, for the message of a failed test. */
export function storyOf(
  entries: readonly TranscriptEntry[],
  pass: Pass | undefined,
  troubles: readonly unknown[],
): string {
  const holds = pass?.decision.holds.map(({ rule, message }) => `  holds: ${rule}: ${message}`) ?? [];
  const failure = pass?.failure ? [`  failed: ${JSON.stringify(pass.failure)}`] : [];
  const members = pass?.observation.members.map(
    ({ record, workload }) => `  ${record.name}: ${JSON.stringify(workload)}`,
  );
  const steps = entries.map((entry) => `  ${describeEntry(entry)}`);
  return [...steps, ...holds, ...failure, ...(members ?? []), ...troubles.map(String)].join("\n");
}
