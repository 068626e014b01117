/**
 * The scalar schemas that many fields share: quantities, durations, bounded strings and integers.
 * Every string, list and map is bounded: the API server estimates the cost of a CEL rule from the
 * bounds and refuses a resource definition whose rules could be dear.
 */
import { z } from "zod";
import { DURATION_PATTERN, parseDuration } from "./duration.ts";
import { parseQuantity, QUANTITY_PATTERN, type Quantity } from "./quantity.ts";
import { withRules, type Rule } from "./rule.ts";

/** The same schema for the same bounds: each that zod makes takes a kilobyte and more for as long as we run. */
export function shared<Bounds extends readonly number[], Schema>(
  make: (...bounds: Bounds) => Schema,
): (...bounds: Bounds) => Schema {
  const made = new Map<string, Schema>();
  return (...bounds) => {
    const key = bounds.join();
    const schema = made.get(key) ?? make(...bounds);
    made.set(key, schema);
    return schema;
  };
}

export const text = shared((max: number) => z.string().max(max));

export const int = shared((min: number, max: number) => z.int().min(min).max(max));

/** A map of strings, such as labels. */
export const stringMap = (maxEntries: number, value: z.ZodString) =>
  z.record(z.string(), value).meta({ maxProperties: maxEntries });

/** Kubernetes stores more than this as this, so that what was asked for would never be what is there. */
const BELOW_LARGEST = "quantity(string(self)).isLessThan(quantity('9223372036854775807'))";

const positiveQuantity: Rule<Quantity> = {
  cel: `isQuantity(string(self)) && quantity(string(self)).isGreaterThan(quantity('0')) && ${BELOW_LARGEST}`,
  message: "must be a quantity greater than zero and below 8Ei: write it like 512Mi or 10Gi",
  check: (value) => (parseQuantity(value) ?? 0) > 0,
};

const anyQuantity: Rule<Quantity> = {
  cel: `isQuantity(string(self)) && !string(self).startsWith('-') && ${BELOW_LARGEST}`,
  message: "must be a quantity of zero or more and below 8Ei: write it like 100m, 512Mi or 10Gi",
  check: (value) => parseQuantity(value) !== undefined && !String(value).startsWith("-"),
};

const intOrString = shared(() => z.union([z.int(), text(64)]).meta({ "x-kubernetes-int-or-string": true }));

/** The pattern is checked before any rule, so that no rule has to parse what would take seconds. */
const boundedQuantity = shared(() => intOrString().meta({ pattern: QUANTITY_PATTERN }));

/** More than zero. */
export const quantity = shared(() => withRules(boundedQuantity(), positiveQuantity));

/** Zero allowed, as in resource requests. */
export const quantityOrZero = shared(() => withRules(boundedQuantity(), anyQuantity));

/** An integer or a string, without a rule of its own. */
export const integerOrText = intOrString;

const anyDuration: Rule<string> = {
  cel: `self.matches('${DURATION_PATTERN.replaceAll("\\", "\\\\")}')`,
  message: "must be a duration with its unit: write it like 100ms, 30s, 5m or 1h30m",
  check: (value) => parseDuration(value) !== undefined,
};

export const duration = shared(() => withRules(text(32), anyDuration));

/**
 * CEL for a comparison of durations that holds when one of them is malformed: the field's own rule
 * already reports that, and `duration()` of a malformed text would be an evaluation error on top.
 */
export function celWhenDurations(fields: readonly string[], expression: string): string {
  const guard = fields
    .map((field) => `${field}.matches('${DURATION_PATTERN.replaceAll("\\", "\\\\")}')`)
    .join(" && ");
  return `!(${guard}) || (${expression})`;
}

/** The twin of `celWhenDurations`. */
export function whenDurations(
  texts: readonly string[],
  compare: (...milliseconds: number[]) => boolean,
): boolean {
  const values = texts.map(parseDuration);
  return values.some((value) => value === undefined) || compare(...(values as number[]));
}
