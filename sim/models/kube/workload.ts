/** Small questions about Pods and selectors that several of the model controllers ask. */
import { items, json, type Json } from "./object.ts";

/** A LabelSelector: all of `matchLabels` and all of `matchExpressions`. */
export function selectsLabels(selector: unknown, labels: Readonly<Record<string, string>> = {}): boolean {
  const { matchLabels, matchExpressions } = json(selector);
  const equal = Object.entries(json(matchLabels)).every(([name, value]) => labels[name] === value);
  return equal && items(matchExpressions).every((one) => holds(one, labels));
}

function holds({ key, operator, values }: Json, labels: Readonly<Record<string, string>>): boolean {
  const value = labels[String(key)];
  const among = (values as readonly string[] | undefined) ?? [];
  switch (operator) {
    case "In":
      return value !== undefined && among.includes(value);
    case "NotIn":
      return value === undefined || !among.includes(value);
    case "Exists":
      return value !== undefined;
    default:
      return value === undefined;
  }
}
