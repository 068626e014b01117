/** Searching pages: all matches of a pattern with their lines, and the text without its code. */

interface Match {
  readonly line: number;
  readonly groups: Readonly<Record<string, string | undefined>>;
}

export function matches(text: string, pattern: RegExp): Match[] {
  return [...text.matchAll(pattern)].map((match) => ({
    line: text.slice(0, match.index).split("\n").length,
    groups: match.groups ?? {},
  }));
}

/** Blocks of code; lines stay where they are. */
export function withoutCode(text: string): string {
  return text.replace(/^```[^]*?^```/gm, (code) => code.replace(/[^\n]/g, ""));
}

export function withoutInlineCode(text: string): string {
  return text.replace(/`[^`\n]*`/g, "``");
}
