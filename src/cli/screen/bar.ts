/** How full something is, as a bar of text. */

const WIDTH = 24;

/** `[########----------------]`; more than full is full. */
export function bar(share: number): string {
  const filled = Math.min(WIDTH, Math.max(share > 0 ? 1 : 0, Math.round(share * WIDTH)));
  return `[${"#".repeat(filled)}${"-".repeat(WIDTH - filled)}]`;
}

export function percent(share: number): string {
  const value = share * 100;
  return value > 0 && value < 1 ? "<1%" : `${Math.round(value)}%`;
}
