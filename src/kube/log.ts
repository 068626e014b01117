/**
 * What is logged: a level, a sentence, and fields that machines search by. The program decides where lines go, and
 * which levels it wants.
 */
export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** `namespace` and `cluster` name an EtcdCluster; `reason` is a word of the status, `step` the kind of an action. */
export interface LogFields {
  readonly namespace?: string | undefined;
  readonly cluster?: string | undefined;
  readonly member?: string | undefined;
  readonly step?: string | undefined;
  readonly reason?: string | undefined;
  readonly error?: unknown;
  /** How long it took, or how often it failed. */
  readonly ms?: number | undefined;
  readonly failures?: number | undefined;
}

export type Log = (level: LogLevel, message: string, fields?: LogFields) => void;

export const silent: Log = () => undefined;

export function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** One JSON object for a line: an error by its message, with its stack where the level says that it matters. */
export function logLine(at: number, level: LogLevel, message: string, fields: LogFields = {}): string {
  const { error, ...named } = fields;
  return JSON.stringify({
    time: new Date(at).toISOString(),
    level,
    message,
    ...named,
    ...(error !== undefined && { error: textOf(error) }),
    ...(level === "error" && error instanceof Error && { stack: error.stack }),
  });
}

/** Drops what is below `least`. */
export function atLeast(least: LogLevel, log: Log): Log {
  const from = LOG_LEVELS.indexOf(least);
  return (level, message, fields) => {
    if (LOG_LEVELS.indexOf(level) >= from) log(level, message, fields);
  };
}
