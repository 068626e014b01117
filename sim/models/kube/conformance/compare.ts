/** Two answers to the same call: where they differ, apart from what servers choose for themselves. */
import { isJson, type Json } from "../object.ts";
import type { Category, Pairs } from "./pairs.ts";

/** Fields whose values are the server's own, and what they are. */
const CHOSEN: Readonly<Record<string, Category>> = {
  uid: "uid",
  resourceVersion: "version",
  clusterIP: "address",
  nodePort: "address",
};
const TIMES = new Set(["creationTimestamp", "deletionTimestamp", "lastTransitionTime"]);
/** For people, or the server's own business. */
const IGNORED = new Set(["message", "continue", "time"]);
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

export function differences(pairs: Pairs, real: unknown, model: unknown, path = ""): string[] {
  if (Array.isArray(real) && Array.isArray(model)) return lists(pairs, real, model, path);
  if (!isJson(real) || !isJson(model)) {
    return Object.is(real, model) ? [] : [`${path}: ${text(real)}, in the model ${text(model)}`];
  }
  const named = renamed(pairs, real);
  const names = new Set([...Object.keys(named), ...Object.keys(model)]);
  return [...names].flatMap((name) => {
    const [r, m] = [named[name], model[name]];
    const at = `${path}.${name}`;
    if (IGNORED.has(name)) return [];
    if (r === undefined || m === undefined) {
      if (r === m) return [];
      return [`${at}: ${text(r)}, in the model ${text(m)}`];
    }
    return field(pairs, real, name, r, m, at);
  });
}

const OWNER_KEY = /^k:\{"uid":"(.*)"\}$/;

/** Field sets name owners by their UIDs. */
function renamed(pairs: Pairs, real: Json): Json {
  if (!Object.keys(real).some((name) => OWNER_KEY.test(name))) return real;
  const rename = (name: string) =>
    name.replace(OWNER_KEY, (_, uid: string) => `k:{"uid":"${pairs.modelOf("uid", uid)}"}`);
  return Object.fromEntries(Object.entries(real).map(([name, value]) => [rename(name), value]));
}

function field(
  pairs: Pairs,
  within: Json,
  name: string,
  real: unknown,
  model: unknown,
  at: string,
): string[] {
  if (TIMES.has(name)) return TIME.test(String(real)) === TIME.test(String(model)) ? [] : [`${at}: a time`];
  const category = categoryOf(within, name, real);
  if (category !== undefined && real !== "None")
    return pairs.pair(category, real, model)
      ? []
      : [`${at}: ${text(real)} and ${text(model)} are no pair (but ${pairs.explain(category, real, model)})`];
  if (name === "metadata" && "items" in within) {
    const { resourceVersion: _r, ...rest } = real as Json;
    const { resourceVersion: _m, ...other } = model as Json;
    return differences(pairs, rest, other, at);
  }
  return differences(pairs, real, model, at);
}

function categoryOf(within: Json, name: string, value: unknown): Category | undefined {
  if (name === "name" && typeof value === "string") {
    if (/^(kube-api-access|made)-/.test(value) || within["generateName"] !== undefined) return "name";
  }
  // Of a reference that the client wrote itself.
  if (name === "uid" && value === "u") return undefined;
  return CHOSEN[name];
}

function lists(pairs: Pairs, real: readonly unknown[], model: readonly unknown[], path: string): string[] {
  if (path.endsWith(".clusterIPs"))
    return differences(pairs, { clusterIP: real[0] }, { clusterIP: model[0] }, path);
  const [whole, m] = [sorted(real, path), sorted(model, path)];
  const r = path.endsWith(".causes") ? withoutParents(whole as readonly Json[], m as readonly Json[]) : whole;
  // Pods have many more rules than the model; those that it has must be among the server's.
  if (path.endsWith(".causes") && isAboutPods(m)) {
    const known = new Set(
      (r as readonly Json[]).map(({ field, reason }) => `${String(field)} ${String(reason)}`),
    );
    return (m as readonly Json[])
      .map(({ field, reason }) => `${String(field)} ${String(reason)}`)
      .filter((one) => !known.has(one))
      .map((one) => `${path}: ${one} is only in the model, not in ${fieldsOf(r)}`);
  }
  if (r.length !== m.length && path.endsWith(".causes"))
    return [`${path}: ${fieldsOf(r)}, in the model ${fieldsOf(m)}`];
  if (r.length !== m.length)
    return [`${path}: ${r.length} items, in the model ${m.length}: ${text(r)} and ${text(m)}`];
  return r.flatMap((item, i) => differences(pairs, item, m[i], `${path}[${i}]`));
}

/**
 * A real server asks the rules of an object though one of its fields is out of bounds; the model does not. What it says
 * of the objects around a field that both refuse is left out.
 */
function withoutParents(real: readonly Json[], model: readonly Json[]): readonly Json[] {
  const isAround = (field: string) => model.some((one) => String(one["field"]).startsWith(`${field}.`));
  const known = new Set(model.map(({ field }) => field));
  return real.filter(({ field }) => known.has(field) || !isAround(String(field)));
}

const fieldsOf = (causes: readonly unknown[]) =>
  text((causes as readonly Json[]).map(({ field, reason }) => `${String(field)} ${String(reason)}`));

function isAboutPods(causes: readonly unknown[]): boolean {
  return (causes as readonly Json[]).some(({ message }) =>
    /pod updates may not|only deletion is allowed/.test(String(message)),
  );
}

/** Lists whose order says nothing. */
function sorted(list: readonly unknown[], path: string): readonly unknown[] {
  const key = path.endsWith(".managedFields")
    ? (one: Json) => [one["operation"], one["manager"], one["subresource"] ?? ""].join(" ")
    : path.endsWith(".causes")
      ? (one: Json) => [one["field"], one["reason"]].join(" ")
      : undefined;
  if (key === undefined) return list;
  // Some checks are made twice.
  const unique = new Map((list as readonly Json[]).map((one) => [key(one), one]));
  return [...unique.values()].toSorted((a, b) => (key(a) < key(b) ? -1 : 1));
}

function text(value: unknown): string {
  const json = JSON.stringify(value) ?? "nothing";
  return json.length > 2000 ? `${json.slice(0, 2000)}…` : json;
}
