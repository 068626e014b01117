/**
 * A whole spec around one value: what encloses it is made as small as the schema allows, and what rules demand beside
 * it is looked for among the fields that they name. Nothing here knows any field by name.
 */
import type { SchemaNode } from "../../src/api/json-schema.ts";
import { failing, hasShape, isObject, rulesOf, wrongWithSpec, type Failing, type Spec } from "./check.ts";
import { ITEM, specNode, VALUE, type Step } from "./fields.ts";
import { KEYS, valid } from "./values.ts";

export class NoValue extends Error {
  override name = "NoValue";
}

/** The smallest value of a node that could be part of a spec; rules across fields may still want more. */
export function smallest(node: SchemaNode, path: string): unknown {
  if (node.default !== undefined) return node.default;
  if (node.items) return Array.from({ length: node.minItems ?? 0 }, () => smallest(node.items ?? {}, path));
  if (node.properties) {
    const needed = Object.entries(node.properties).filter(([name]) => node.required?.includes(name));
    return Object.fromEntries(needed.map(([name, child]) => [name, smallest(child, `${path}.${name}`)]));
  }
  if (node.additionalProperties) return {};
  const [first] = valid(node);
  if (first === undefined)
    throw new NoValue(
      `no usable value for ${path}: add one that its rules take to WORDS in sim/schema/values.ts`,
    );
  return first;
}

/** `value` at its place in a spec. */
export function withValue(spec: Spec, steps: readonly Step[], value: unknown): Spec {
  return put(specNode, spec, steps, value, "spec") as Spec;
}

function put(
  node: SchemaNode,
  whole: unknown,
  steps: readonly Step[],
  value: unknown,
  path: string,
): unknown {
  const [step, ...rest] = steps;
  if (step === undefined) return value;
  if (step === ITEM) {
    const items = node.items ?? {};
    const [, ...others] = Array.isArray(whole) ? (whole as unknown[]) : [];
    return [put(items, smallest(items, `${path}[]`), rest, value, `${path}[]`), ...others];
  }
  const held = isObject(whole) ? whole : {};
  if (step === VALUE) {
    const values = node.additionalProperties ?? {};
    const inner = put(values, rest.length > 0 ? smallest(values, path) : undefined, rest, value, path);
    return { ...held, [keyFor(node, inner, path)]: inner };
  }
  const child = node.properties?.[step] ?? {};
  const before = held[step] ?? (rest.length > 0 ? smallest(child, `${path}.${step}`) : undefined);
  return { ...held, [step]: put(child, before, rest, value, `${path}.${step}`) };
}

/** A key that the rules of the map take. */
export function keyFor(node: SchemaNode, value: unknown, path: string): string {
  const takes = (key: string) => rulesOf(node).every((rule) => rule.check({ [key]: value }, undefined));
  const key = KEYS.find((one) => {
    try {
      return takes(one);
    } catch {
      return false;
    }
  });
  return key ?? KEYS.find((one) => takesAny(node, one)) ?? fail(path);
}

function takesAny(node: SchemaNode, key: string): boolean {
  const [value] = valid(node.additionalProperties ?? {});
  return rulesOf(node).every((rule) => rule.check({ [key]: value }, undefined));
}

function fail(path: string): never {
  throw new NoValue(
    `no key for the map ${path}: add one that its rules take to KEYS in sim/schema/values.ts`,
  );
}

/** How many fields may be changed besides, for the sake of rules. */
const COMPANIONS = 3;
/** How many ways are followed from each step of the search. */
const WAYS = 12;

/**
 * The spec with what rules demand besides the field at `steps`; undefined when no such is found.
 */
export function accompanied(spec: Spec, steps: readonly Step[]): Spec | undefined {
  if (!hasShape(spec)) return undefined;
  const isGiven = givenIn(spec, steps);
  let tried: Spec[] = [spec];
  for (let depth = 0; depth <= COMPANIONS; depth++) {
    const found = tried.find((one) => wrongWithSpec(one).length === 0);
    if (found) return found;
    tried = tried.slice(0, WAYS).flatMap((one) => neighbours(one, isGiven));
  }
  return undefined;
}

/** Ways to give another value to a field that the first broken rule speaks of, those that mend most first. */
function neighbours(spec: Spec, isGiven: (at: Failing["at"]) => boolean): Spec[] {
  const [first] = failing(spec, undefined);
  if (first === undefined) return [];
  const places = new Map(companions(first).map((at) => [at.join("/"), at]));
  return (
    [...places.values()]
      .filter((at) => !isGiven(at))
      .flatMap((at) =>
        otherValues(at).map((value, turn) => ({ one: replaced(spec, at, value) as Spec, turn })),
      )
      .map(({ one, turn }) => ({ one, turn, left: failing(one, undefined).length }))
      // One value of each field before a second of any, so that a field with many leaves room for the others.
      .toSorted((a, b) => a.left - b.left || a.turn - b.turn)
      .map(({ one }) => one)
      .slice(0, WAYS)
  );
}

/** `self.storage.size`, `self.ports.all(port, port.name …)`: what a rule looks at, in its own words. */
function companions({ rule, at }: Failing): Failing["at"][] {
  const named = [...rule.cel.matchAll(/\bself((?:\.[A-Za-z]+(?![A-Za-z]*\())+)/g)];
  const inLists = [...rule.cel.matchAll(/\bself\.([A-Za-z]+)\.(?:all|exists)\((\w+), (.*)/g)];
  const ofItems = inLists.flatMap(([, list = "", variable = "", rest = ""]) =>
    [...rest.matchAll(new RegExp(`\\b${variable}\\.([A-Za-z]+)`, "g"))].map(([, name = ""]) => [
      list,
      0,
      name,
    ]),
  );
  const own = named.map(([, names = ""]) => names.split(".").slice(1));
  return [...ofItems, ...own].map((names) => [...at, ...names]);
}

/** Whether a place is around the field under test, is that field, or is a part of it that the value has. */
function givenIn(spec: Spec, steps: readonly Step[]): (at: Failing["at"]) => boolean {
  return (at) => {
    const along = at.every((name, index) => {
      const step = steps[index];
      return step === undefined || (step === ITEM ? name === 0 : step === VALUE || step === name);
    });
    return along && (at.length <= steps.length || valueAt(spec, at) !== undefined);
  };
}

function valueAt(whole: unknown, at: Failing["at"]): unknown {
  return at.reduce<unknown>((value, name) => (value as Spec | undefined)?.[name], whole);
}

function otherValues(at: Failing["at"]): unknown[] {
  const node = at.reduce<SchemaNode | undefined>(
    (one, name) =>
      typeof name === "number" ? one?.items : (one?.properties?.[name] ?? one?.additionalProperties),
    specNode,
  );
  if (node === undefined) return [];
  if (node.items) return [undefined, [smallest(node.items, at.join("."))]];
  if (node.properties) return [undefined, smallest(node, at.join("."))];
  return [undefined, ...valid(node)];
}

/** Without the field when `value` is undefined. */
function replaced(whole: unknown, [name, ...rest]: Failing["at"], value: unknown): unknown {
  if (name === undefined) return value;
  if (Array.isArray(whole))
    return whole.map((item: unknown, index) => (index === name ? replaced(item, rest, value) : item));
  if (whole !== undefined && !isObject(whole)) return whole;
  const held = whole ?? {};
  const inner = replaced(held[String(name)], rest, value);
  const { [String(name)]: _, ...others } = held;
  return inner === undefined ? others : { ...others, [String(name)]: inner };
}
