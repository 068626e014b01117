/** Labels and values, one pair per line; what is not known is left out. */

type Row = readonly [label: string, value: string | undefined];

export function rows(...all: readonly Row[]): string[] {
  const shown = all.filter((row): row is [string, string] => row[1] !== undefined);
  const width = Math.max(...shown.map(([label]) => label.length));
  return shown.map(([label, value]) => `${label.padEnd(width)}  ${value}`);
}
