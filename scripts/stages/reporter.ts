/**
 * A reporter for node's test runner (`--test-reporter`): its events as records of records.ts.
 */
import { inspect } from "node:util";
import type { TestEvent } from "node:test/reporters";
import { SEPARATOR, type Counts, type StageRecord } from "./records.ts";

export default async function* report(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const names: string[] = [];
  for await (const event of source) {
    const record = translate(event, names);
    if (record) yield `${SEPARATOR}${JSON.stringify(record)}\n`;
  }
}

/** `names` holds the suite that is open at each level. */
function translate(event: TestEvent, names: string[]): StageRecord | undefined {
  switch (event.type) {
    case "test:start":
      names[event.data.nesting] = event.data.name;
      return undefined;
    case "test:pass":
    case "test:fail": {
      const { data } = event;
      const details = data.details as { duration_ms: number; type?: string; error?: Error };
      return {
        kind: "test",
        ok: event.type === "test:pass",
        path: [...names.slice(0, data.nesting), data.name],
        file: data.file ?? "",
        line: data.line ?? 0,
        ms: details.duration_ms,
        suite: details.type === "suite",
        skipped: Boolean(data.skip) || typeof data.skip === "string",
        todo: Boolean(data.todo) || typeof data.todo === "string",
        ...(details.error ? { error: describe(details.error) } : {}),
      };
    }
    case "test:diagnostic":
      // The counts come again as diagnostics; what matters begins like an error.
      return /^\w*(?:Error|Warning)\b/.test(event.data.message)
        ? { kind: "remark", text: event.data.message }
        : undefined;
    case "test:summary":
      return { kind: "summary", counts: event.data.counts as unknown as Counts };
    default:
      return undefined;
  }
}

/**
 * The runner wraps what a test threw; the cause is what the reader wants, with its difference and stack,
 * without the frames inside Node.
 */
function describe(error: Error): string {
  const cause = error.cause ?? error;
  const text = cause instanceof Error ? (cause.stack ?? cause.message) : inspect(cause);
  return text
    .split("\n")
    .filter((line) => !/^ +at .*\bnode:/.test(line))
    .join("\n");
}
