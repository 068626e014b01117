/** How much of a snapshot was read or sent: as a report of the process that does it, and in words. */
import { share } from "../core/messages/words.ts";
import type { Transfer } from "../core/snapshots/facts.ts";
import { jsonObject } from "./json-object.ts";

export function progressText(done: number, of: number | undefined): string {
  const part = share({ done, of });
  return part === undefined ? "reading it" : `${part} read`;
}

export function parseTransfer(text: string | undefined): Transfer | undefined {
  const { done, of } = jsonObject(text) ?? {};
  const isCount = (one: unknown): one is number => Number.isSafeInteger(one) && (one as number) >= 0;
  if (!isCount(done)) return undefined;
  if (of === undefined) return { done };
  return isCount(of) ? { done, of } : undefined;
}
