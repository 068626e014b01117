/** The two kinds of patch that our client sends besides apply: merge patch (RFC 7386) and JSON patch (RFC 6902). */
import { isJson, same, type Json } from "./object.ts";
import { badRequest, Refusal } from "./refusal.ts";

export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isJson(patch)) return patch;
  const out: Record<string, unknown> = isJson(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === undefined) continue;
    if (value === null) delete out[name];
    else out[name] = mergePatch(out[name], value);
  }
  return out;
}

interface Operation {
  readonly op: string;
  readonly path: string;
  readonly value?: unknown;
}

export function jsonPatch(target: Json, operations: readonly unknown[]): Json {
  let out: unknown = target;
  for (const one of operations) out = step(out, one as Operation);
  return out as Json;
}

function step(target: unknown, { op, path, value }: Operation): unknown {
  const parts = path
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
  if (op === "test") {
    const found = parts.reduce<unknown>((at, name) => (at as Json | undefined)?.[name], target);
    if (!same(found, value)) throw unprocessable(`testing value ${path} failed: test failed`);
    return target;
  }
  if (op !== "add" && op !== "replace" && op !== "remove") throw badRequest(`Unexpected kind: ${op}`);
  return changed(target, parts, op, path, value);
}

function changed(
  target: unknown,
  parts: readonly string[],
  op: string,
  path: string,
  value: unknown,
): unknown {
  const [name, ...rest] = parts;
  if (name === undefined) return value;
  if (typeof target !== "object" || target === null) throw missing(op, path);
  const isList = Array.isArray(target);
  const copy: unknown[] | Record<string, unknown> = isList ? [...(target as unknown[])] : { ...target };
  const at = (copy as Record<string, unknown>)[name];
  if (rest.length > 0) {
    if (at === undefined) throw missing(op, path);
    (copy as Record<string, unknown>)[name] = changed(at, rest, op, path, value);
  } else if (isList && op === "add") {
    (copy as unknown[]).splice(name === "-" ? (copy.length as number) : Number(name), 0, value);
  } else if (op !== "add" && at === undefined) throw missing(op, path);
  else if (op === "remove" && isList) (copy as unknown[]).splice(Number(name), 1);
  else if (op === "remove") delete (copy as Record<string, unknown>)[name];
  else (copy as Record<string, unknown>)[name] = value;
  return copy;
}

function missing(op: string, path: string): Refusal {
  return unprocessable(`${op} operation does not apply: doc is missing path: ${path}: missing value`);
}

function unprocessable(message: string): Refusal {
  return new Refusal(422, "Invalid", `the server rejected our request due to an error in our request`, {
    causes: [{ reason: "", message }],
  });
}
