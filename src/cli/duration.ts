/** Lengths of time as people write and read them on a command line. */

const UNITS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** `90s`, `1h30m`, `2d`: milliseconds; undefined for anything else. */
export function durationOf(text: string): number | undefined {
  if (!/^(?:\d{1,6}[smhd])+$/.test(text)) return undefined;
  return [...text.matchAll(/(\d+)([smhd])/g)].reduce(
    (sum, [, count, unit]) => sum + Number(count) * UNITS[unit as keyof typeof UNITS],
    0,
  );
}

/** The two largest units at most: `45s`, `12m`, `3h20m`, `5d4h`, `400d`. */
export function ageOf(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  const [minutes, hours, days] = [60, 3_600, 86_400].map((unit) => Math.floor(seconds / unit)) as [
    number,
    number,
    number,
  ];
  if (days >= 10) return `${days}d`;
  if (days >= 1) return `${days}d${hours % 24 > 0 ? `${hours % 24}h` : ""}`;
  if (hours >= 1) return `${hours}h${minutes % 60 > 0 && hours < 10 ? `${minutes % 60}m` : ""}`;
  if (minutes >= 1) return `${minutes}m${seconds % 60 > 0 && minutes < 10 ? `${seconds % 60}s` : ""}`;
  return `${seconds}s`;
}
