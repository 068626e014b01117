/** What an error is, apart from its words: whether the next one is news is decided by that. */

/** Its class, and what its class has to tell it from others by, down to what caused it. */
export function errorCode(error: unknown, depth = 0): string {
  if (!(error instanceof Error)) return typeof error;
  const data = FIELDS.flatMap((field) => {
    const value: unknown = Reflect.get(error, field);
    return typeof value === "string" || typeof value === "number" ? [`${field}=${value}`] : [];
  });
  const isCaused = error.cause !== undefined && depth < DEEPEST;
  const caused = isCaused ? [`because ${errorCode(error.cause, depth + 1)}`] : [];
  return [error.name, ...data, ...fieldsAtFault(error), ...caused].join(" ");
}

const FIELDS = ["kind", "reason", "fault", "code", "call"] as const;
const DEEPEST = 5;

/** The API server names the fields that it rejects. */
function fieldsAtFault(error: Error): string[] {
  const causes: unknown = Reflect.get(error, "causes");
  if (!Array.isArray(causes)) return [];
  return (causes as readonly { readonly field?: string; readonly reason?: string }[]).map(
    ({ field = "", reason = "" }) => `${field}:${reason}`,
  );
}
