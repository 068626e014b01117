/** How much of a snapshot was read or sent: as a report of the process that does it, and in words. */
import { share } from "../core/messages/words.ts";
import type { Transfer } from "../core/snapshots/facts.ts";

export function progressText(done: number, of: number | undefined): string {
  const part = share({ done, of });
  return part === undefined ? "reading it" : `${part} read`;
}

/** Undefined for anything else: what answers may be anybody. */
export function parseTransfer(text: string | undefined): Transfer | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text ?? "");
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null) return undefined;
  const { done, of } = value as Record<string, unknown>;
  const isCount = (one: unknown): one is number => Number.isSafeInteger(one) && (one as number) >= 0;
  if (!isCount(done)) return undefined;
  if (of === undefined) return { done };
  return isCount(of) ? { done, of } : undefined;
}
