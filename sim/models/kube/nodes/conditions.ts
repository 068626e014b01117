/** Lists of conditions, one of each type, with the time of their last change. */
import { items, type Json } from "../object.ts";

/** The list with one condition set; the same list when nothing changes. */
export function withCondition(list: unknown, wanted: Json, now: string): readonly Json[] {
  const before = items(list);
  const index = before.findIndex(({ type }) => type === wanted["type"]);
  const old = before[index];
  const changed = old?.["status"] !== wanted["status"];
  const since = changed ? now : old?.["lastTransitionTime"];
  const next = { lastProbeTime: null, ...wanted, lastTransitionTime: since };
  if (old === undefined) return [...before, next];
  return before.map((one, i) => (i === index ? next : one));
}

export function conditionOf(list: unknown, type: string): Json | undefined {
  return items(list).find((one) => one["type"] === type);
}
