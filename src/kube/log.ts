/** Where this runtime tells what it met; the program that uses it decides what becomes of it. */
export type Log = (level: "info" | "warn" | "error", message: string, error?: unknown) => void;

export const silent: Log = () => undefined;

export function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
