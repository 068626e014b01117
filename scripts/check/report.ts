/**
 * How a check's answer reads on a terminal: one line, and its findings indented below.
 */
import type { CheckResult } from "./run.ts";

const MOST_SHOWN = 60;

export function describeCheck({ name, findings, notes = [], ms }: CheckResult): string {
  const time = `${(ms / 1000).toFixed(1)} s`;
  const asides = notes.slice(0, MOST_SHOWN).map((one) => `    ${one}`);
  if (findings.length === 0) return [`✔ ${name.padEnd(14)} ${time}`, ...asides].join("\n");
  const shown = findings.slice(0, MOST_SHOWN).map((one) => `    ${one}`);
  if (findings.length > MOST_SHOWN) shown.push(`    … and ${findings.length - MOST_SHOWN} more`);
  return [`✖ ${name.padEnd(14)} ${time}`, ...shown, ...asides].join("\n");
}
