/** How long certificates live that Quorate issues itself: as the spec says, or by default. */
import { millisecondsOf } from "./duration.ts";

export const DEFAULT_LIFETIMES = { leafLifetime: "2160h", caLifetime: "87600h" } as const;

export interface Lifetimes {
  readonly leafMs: number;
  readonly caMs: number;
}

export function lifetimesOf({ managed }: { readonly managed?: Given | undefined }): Lifetimes {
  const { leafLifetime, caLifetime } = managed ?? {};
  return {
    leafMs: millisecondsOf(leafLifetime ?? DEFAULT_LIFETIMES.leafLifetime),
    caMs: millisecondsOf(caLifetime ?? DEFAULT_LIFETIMES.caLifetime),
  };
}

interface Given {
  readonly leafLifetime?: string | undefined;
  readonly caLifetime?: string | undefined;
}
