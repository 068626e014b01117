/** Reads the parts of a report, takes out what is secret, and keeps account of what could not be read. */
import { redactedObject, redactedText } from "./redact.ts";
import type { Part } from "./parts.ts";
import type { ArchiveFile } from "./tar.ts";

export interface Collected {
  readonly files: readonly ArchiveFile[];
  readonly missing: readonly { readonly path: string; readonly reason: string }[];
}

/** Few at a time: an API server in trouble must not get more of it. */
const AT_ONCE = 4;

export async function collected(parts: readonly Part[], signal: AbortSignal): Promise<Collected> {
  const files: ArchiveFile[] = [];
  const missing: { path: string; reason: string }[] = [];
  const { stringify } = await import("../../seams/yaml.ts");
  const waiting = [...parts];
  const worker = async () => {
    for (let part = waiting.shift(); part !== undefined && !signal.aborted; part = waiting.shift()) {
      try {
        const content = await part.read();
        if (content === undefined) continue;
        const text =
          typeof content === "string" ? content : stringify(redactedObject(content), { lineWidth: 0 });
        files.push({ path: part.path, text: redactedText(text) });
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        missing.push({ path: part.path, reason: redactedText(reason) });
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  if (missing.length > 0) {
    const text = missing.map(({ path, reason }) => `${path}: ${reason}\n`).join("");
    files.push({ path: "not-collected.txt", text });
  }
  return { files: files.toSorted((a, b) => (a.path < b.path ? -1 : 1)), missing };
}
