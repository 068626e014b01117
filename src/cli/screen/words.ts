/** Small things that several screens say alike. */
import type { ClusterPhase, MemberPhase } from "../../api/status-words.ts";
import type { Paint, Style } from "./style.ts";

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"] as const;

/** `412 B`, `20.1 MiB`, `1.9 GiB`. */
export function bytes(count: number | undefined): string {
  if (count === undefined) return "-";
  let [value, unit] = [count, 0];
  while (value >= 1024 && unit < UNITS.length - 1) [value, unit] = [value / 1024, unit + 1];
  return `${unit === 0 ? value : value.toFixed(1)} ${UNITS[unit]}`;
}

/** Without characters that a terminal would obey: text from elsewhere must not move its cursor. */
export function printable(text: string): string {
  return text.replaceAll(/[^\P{Cc}\t]/gu, (one) => `\\x${one.charCodeAt(0).toString(16).padStart(2, "0")}`);
}

/** 48211 as `48,211`. */
export function grouped(count: number): string {
  return String(count).replaceAll(/\B(?=(?:\d{3})+$)/g, ",");
}

const WELL: ReadonlySet<string> = new Set<ClusterPhase | MemberPhase>(["Healthy", "Hibernated"]);
const ILL: ReadonlySet<string> = new Set<ClusterPhase | MemberPhase>([
  "NoQuorum",
  "Degraded",
  "Stalled",
  "Unhealthy",
  "Failed",
]);

/** How a phase is painted. */
export function phasePaint(phase: string | undefined, style: Style): Paint {
  if (phase === undefined) return style.quiet;
  if (WELL.has(phase)) return style.good;
  return ILL.has(phase) ? style.bad : style.doubtful;
}
