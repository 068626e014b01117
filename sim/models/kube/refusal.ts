/**
 * What the API server says when it does not do as asked: a `Status` with code, reason, details and causes, as
 * src/kube/errors.ts reads it.
 */
import type { KubeResponse } from "../../../src/seams/kube-transport.ts";

export interface Cause {
  readonly reason: string;
  readonly message: string;
  readonly field?: string;
}

interface Details {
  readonly name?: string;
  readonly group?: string;
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly Cause[];
  readonly retryAfterSeconds?: number;
}

/** Thrown inside the model, an answer outside of it. */
export class Refusal extends Error {
  override name = "Refusal";
  readonly response: KubeResponse;
  constructor(code: number, reason: string | undefined, message: string, details?: Details) {
    super(message);
    this.response = refusal(code, reason, message, details);
  }
}

export function refusal(
  code: number,
  reason: string | undefined,
  message: string,
  details?: Details,
): KubeResponse {
  const body = {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message,
    ...(reason !== undefined && { reason }),
    ...(details && { details }),
    code,
  };
  const seconds = details?.retryAfterSeconds;
  return { status: code, body, ...(seconds !== undefined && { retryAfterMs: seconds * 1_000 }) };
}

/** Which object, for messages and details. */
interface Named {
  readonly group: string;
  readonly plural: string;
  readonly kind: string;
}

const qualified = (group: string, name: string) => (group === "" ? name : `${name}.${group}`);
const groupOf = (group: string) => (group === "" ? {} : { group });

export function notFound({ group, plural }: Named, name: string): Refusal {
  return new Refusal(404, "NotFound", `${qualified(group, plural)} "${name}" not found`, {
    name,
    ...groupOf(group),
    kind: plural,
  });
}

export function alreadyExists({ group, plural }: Named, name: string): Refusal {
  return new Refusal(409, "AlreadyExists", `${qualified(group, plural)} "${name}" already exists`, {
    name,
    ...groupOf(group),
    kind: plural,
  });
}

export function conflict({ group, plural }: Named, name: string, why: string): Refusal {
  const message = `Operation cannot be fulfilled on ${qualified(group, plural)} "${name}": ${why}`;
  return new Refusal(409, "Conflict", message, { name, ...groupOf(group), kind: plural });
}

export const MODIFIED =
  "the object has been modified; please apply your changes to the latest version and try again";

export function invalid({ group, kind }: Named, name: string, causes: readonly Cause[]): Refusal {
  const [only] = causes;
  // Events are checked as what they are stored as.
  if (kind === "Event") group = "";
  const reported = causes.map(({ field, message }) => `${field}: ${message}`);
  const text = causes.length === 1 && only ? `${only.field}: ${only.message}` : `[${reported.join(", ")}]`;
  return new Refusal(422, "Invalid", `${qualified(group, kind)} "${name}" is invalid: ${text}`, {
    name,
    ...groupOf(group),
    kind,
    causes,
  });
}

export function badRequest(message: string): Refusal {
  return new Refusal(400, "BadRequest", message);
}

export function forbidden({ group, plural }: Named, name: string, why: string): Refusal {
  const message = `${qualified(group, plural)} "${name}" is forbidden: ${why}`;
  return new Refusal(403, "Forbidden", message, { name, ...groupOf(group), kind: plural });
}

export function expired(message: string): Refusal {
  return new Refusal(410, "Expired", message);
}

/** Causes, by what the API calls them. */
export const causes = {
  required: (field: string, message = "Required value"): Cause => ({
    reason: "FieldValueRequired",
    message,
    field,
  }),
  invalid: (field: string, value: unknown, why: string): Cause => ({
    reason: "FieldValueInvalid",
    message: `Invalid value: ${JSON.stringify(value)}: ${why}`,
    field,
  }),
  forbidden: (field: string, why: string): Cause => ({
    reason: "FieldValueForbidden",
    message: `Forbidden: ${why}`,
    field,
  }),
  unsupported: (field: string, message: string): Cause => ({
    reason: "FieldValueNotSupported",
    message,
    field,
  }),
};
