/** A line of etcd's log for people: time, member, level, message and its fields; what is not JSON as it is. */
import type { LogLine } from "../target/target.ts";
import type { Paint, Style } from "./style.ts";
import { printable } from "./words.ts";

export const LOG_LEVELS = ["debug", "info", "warn", "error", "dpanic", "panic", "fatal"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export interface EtcdLog {
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** Undefined for a line that is not of etcd's logger, such as a stack. */
export function parseEtcdLog(text: string): EtcdLog | undefined {
  if (!text.startsWith("{")) return undefined;
  try {
    const { level, msg, ...fields } = JSON.parse(text) as Record<string, unknown>;
    const known = LOG_LEVELS.find((one) => one === level);
    return known === undefined || typeof msg !== "string"
      ? undefined
      : { level: known, message: msg, fields };
  } catch {
    return undefined;
  }
}

/** When etcd wrote the line, in milliseconds since the epoch. */
export function timeOfLog(text: string): number | undefined {
  const { ts } = parseEtcdLog(text)?.fields ?? {};
  const at = typeof ts === "string" ? Date.parse(ts) : Number.NaN;
  return Number.isNaN(at) ? undefined : at;
}

/** Lines that cannot be judged are never left out: a panic is one of them. */
export function isAtLeast(text: string, level: LogLevel): boolean {
  const log = parseEtcdLog(text);
  return log === undefined || LOG_LEVELS.indexOf(log.level) >= LOG_LEVELS.indexOf(level);
}

export interface LogView {
  /** Of the longest name, so that messages stand below each other. */
  readonly nameWidth: number;
  /** With the place in the source. */
  readonly wide: boolean;
}

export function logText({ member, at, text }: LogLine, { nameWidth, wide }: LogView, style: Style): string {
  const time = at === undefined ? " ".repeat(12) : new Date(at).toISOString().slice(11, 23);
  const head = `${style.quiet(time)}  ${member.padEnd(nameWidth)}`;
  const log = parseEtcdLog(text);
  if (log === undefined) return `${head}  ${printable(text)}`;
  const level = log.level.toUpperCase().padEnd(5);
  const { ts: _, caller, logger, ...fields } = log.fields;
  const source = wide
    ? [String(logger ?? ""), String(caller ?? "")].filter((part) => part !== "").join(" ")
    : "";
  const shown = Object.entries(fields).map(([name, value]) => `${name}=${valueText(value)}`);
  const tail = [...shown, ...(source === "" ? [] : [`(${source})`])].map(printable).join(" ");
  return `${head}  ${paintOf(log.level, style)(level)}  ${printable(log.message)}${tail === "" ? "" : `  ${style.quiet(tail)}`}`;
}

function valueText(value: unknown): string {
  if (typeof value !== "string") return JSON.stringify(value);
  return /^[\w.:/@%+,-]+$/.test(value) ? value : JSON.stringify(value);
}

function paintOf(level: LogLevel, style: Style): Paint {
  if (level === "info" || level === "debug") return style.quiet;
  return level === "warn" ? style.doubtful : style.bad;
}
