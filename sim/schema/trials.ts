/**
 * What is tried on a field: its values, each in a whole spec, and what the API server must answer. A field of which
 * no valid value can be made is an error here, so that none is passed over.
 */
import { keepsBase, specOf, USUAL, type Base } from "./bases.ts";
import { accompanied, keyFor, NoValue, smallest, withValue } from "./build.ts";
import { completed, isObject, pruned, wrongWithSpec, type Spec } from "./check.ts";
import type { Field } from "./fields.ts";
import { HOSTILE_KEYS, valid, valuesOf, type Value, type ValueClass } from "./values.ts";

/** Whether it is taken; "kept": only a new cluster may have it; "same": what is written asks for nothing new. */
export type Answer = "taken" | "refused" | "kept" | "same";

export interface Trial {
  readonly is: ValueClass;
  readonly value: unknown;
  readonly spec: Spec;
  readonly answer: Answer;
}

/** How many of each class are tried of those that are taken, each a rollout; what is refused costs nothing. */
const MOST = { valid: 2, boundary: 2, hostile: 1 } as const;
const FEW = { valid: 1, boundary: 1, hostile: 1 } as const;

export function trialsOf(field: Field, on: Base = USUAL): Trial[] {
  const base = specOf(on, field);
  const most = field.handedOn || on !== USUAL ? FEW : MOST;
  const taken = { valid: 0, boundary: 0, hostile: 0 };
  const seen = new Set<string>();
  const trials: Trial[] = [];
  for (const value of rawValues(field)) {
    const text = JSON.stringify(value.value);
    // Of a valid value that is not to be had, and of one too many, there is nothing to learn.
    if (seen.has(text) || (value.is === "valid" && taken.valid >= most.valid)) continue;
    const trial = trialOf(field, base, value);
    if (on !== USUAL && (trial.is === "hostile" || !keepsBase(on, trial.spec))) continue;
    const costs = trial.answer === "taken" || trial.answer === "kept";
    if ((costs && ++taken[trial.is] > most[trial.is]) || (trial.is === "valid" && !costs)) continue;
    seen.add(text);
    trials.push(trial);
  }
  // What the rules refuse on another base was tried on the usual one.
  if (on !== USUAL) return trials;
  if (taken.valid === 0)
    throw new NoValue(
      `no valid value for ${field.path}: none that sim/schema/values.ts has is taken, also with the fields that its rules name (${whyNot(field, base)})`,
    );
  if (!trials.some(({ is }) => is === "hostile")) throw new NoValue(`no hostile value for ${field.path}`);
  return trials;
}

function whyNot(field: Field, base: Spec): string {
  const [first] = rawValues(field);
  return first === undefined ? "no value" : wrongWithSpec(specWith(field, base, first)).join("; ");
}

function trialOf(field: Field, base: Spec, given: Value): Trial {
  const { is, value } = given;
  const plain = specWith(field, base, given);
  const seen = pruned(plain) as Spec;
  const isWhole = JSON.stringify(seen) === JSON.stringify(plain);
  const made = accompanied(seen, field.steps);
  if (made && !isWhole) {
    // What is dropped is sent all the same; what it would need besides is not.
    if (wrongWithSpec(seen, base).length > 0) return { is, value, spec: plain, answer: "refused" };
    const same = JSON.stringify(completed(seen)) === JSON.stringify(base);
    return { is, value, spec: plain, answer: same ? "same" : "taken" };
  }
  const spec = made;
  if (!spec) return { is, value, spec: plain, answer: "refused" };
  if (JSON.stringify(completed(spec)) === JSON.stringify(base)) return { is, value, spec, answer: "same" };
  return { is, value, spec, answer: wrongWithSpec(spec, base).length > 0 ? "kept" : "taken" };
}

function specWith({ steps }: Field, base: Spec, { value }: Value): Spec {
  return withValue(base, steps, value);
}

function rawValues(field: Field): Value[] {
  const { node, kind, path } = field;
  switch (kind) {
    case "scalar":
      return valuesOf(node);
    case "object":
      return [...wholes(field), ...unknownFields(field), ...wrongTypes("object")];
    case "list": {
      const items = node.items ?? {};
      const item = itemOf(items, path);
      const many = Array.from({ length: (node.maxItems ?? 1_000) + 1 }, () => item);
      return [
        { is: "valid", value: [item] },
        ...(node.minItems ? [] : [{ is: "boundary" as const, value: [] }]),
        { is: "boundary", value: distinct(items, node.maxItems ?? 3, path) },
        { is: "hostile", value: many },
        { is: "hostile", value: [item, item] },
        { is: "hostile", value: [[]] },
        ...wrongTypes("array"),
      ];
    }
    case "map": {
      const values = node.additionalProperties ?? {};
      const value = smallest(values, path);
      const key = keyFor(node, value, path);
      const many = Array.from({ length: (node.maxProperties ?? 1_000) + 1 }, (_, i) => [`k${i}`, value]);
      return [
        { is: "valid", value: { [key]: value } },
        { is: "boundary", value: {} },
        { is: "hostile", value: Object.fromEntries(many) as object },
        ...HOSTILE_KEYS.map((name) => ({ is: "hostile" as const, value: own(name, value) })),
        ...wrongTypes("object"),
      ];
    }
  }
}

/** `{"__proto__": …}` as JSON has it: a key like any other. */
function own(key: string, value: unknown): object {
  return Object.defineProperty({}, key, { value, enumerable: true, configurable: true, writable: true });
}

/** An object with each of its scalars in turn, so that one is found which its rules take. */
function wholes({ node, path }: Field): Value[] {
  const made = smallest(node, path);
  const { default: _, ...bare } = node;
  const empty = smallest(bare, path);
  const more = Object.entries(node.properties ?? {}).flatMap(([name, child]) => {
    const value = child.properties || child.additionalProperties ? undefined : itemOrScalar(child, path);
    return value === undefined ? [] : [{ ...(isObject(empty) ? empty : {}), [name]: value }];
  });
  return [
    ...more.map((value) => ({ is: "valid" as const, value })),
    ...nested(node, isObject(empty) ? empty : {}, path),
    { is: "boundary", value: made },
    { is: "boundary", value: empty },
  ];
}

/** For objects that hold only objects: the first, besides those that are required. */
function nested(node: Field["node"], empty: Readonly<Record<string, unknown>>, path: string): Value[] {
  const entries = Object.entries(node.properties ?? {});
  if (entries.some(([, child]) => !child.properties && !child.additionalProperties)) return [];
  return entries
    .slice(0, 1)
    .map(([name, child]) => ({ is: "valid", value: { ...empty, [name]: smallest(child, path) } }));
}

function itemOrScalar(node: Field["node"], path: string): unknown {
  if (node.items) return [itemOf(node.items, path)];
  return valid(node).find((value) => JSON.stringify(value) !== JSON.stringify(node.default));
}

function itemOf(items: Field["node"], path: string): unknown {
  return smallest(items, `${path}[]`);
}

/** Items that differ in their first text. */
function distinct(items: Field["node"], count: number, path: string): unknown[] {
  const pool = items.properties ? [] : valid(items);
  if (pool.length > 0) return pool.slice(0, count);
  return [itemOf(items, path)];
}

/** A field that the schema does not know: dropped, or handed on where that is meant. */
function unknownFields({ node, path }: Field): Value[] {
  const made = smallest(node, path);
  const held = isObject(made) ? made : {};
  return [{ is: "hostile", value: { ...held, nosuchfield: "x" } }];
}

function wrongTypes(type: "object" | "array"): Value[] {
  const all = ["text", 7, true, type === "object" ? ["a"] : { a: "b" }];
  return all.map((value) => ({ is: "hostile", value }));
}
