/** From a path to what is meant: a kind, a place, an object, a subresource. */
import type { Kind } from "./kind.ts";
import { kindAt } from "./kinds/all.ts";
import { Refusal } from "./refusal.ts";

export interface Route {
  readonly kind: Kind;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly subresource: string;
}

const known = new Map<string, Route>();
/** Paths are few and asked for often; but names are without end. */
const MOST_ROUTES = 5_000;

export function routeOf(path: string): Route {
  const found = known.get(path);
  if (found) return found;
  const route = parse(path);
  if (known.size >= MOST_ROUTES) known.clear();
  known.set(path, route);
  return route;
}

function parse(path: string): Route {
  const parts = path.split("/").slice(1).map(decodeURIComponent);
  const [group, version, rest] =
    parts[0] === "api" ? ["", parts[1], parts.slice(2)] : [parts[1], parts[2], parts.slice(3)];
  if (group === undefined || version === undefined) throw unknownResource();
  if (rest[0] === "namespaces" && rest.length >= 3) {
    const [, namespace, plural = "", name, subresource = ""] = rest;
    const kind = kindAt(group, version, plural);
    if (kind?.namespaced) return { kind, namespace, name, subresource };
    // A subresource of the namespace itself.
  }
  const [plural = "", name, subresource = ""] = rest;
  const kind = kindAt(group, version, plural);
  if (!kind || (kind.namespaced && name !== undefined)) throw unknownResource();
  return { kind, namespace: undefined, name, subresource };
}

export function unknownResource(): Refusal {
  return new Refusal(404, "NotFound", "the server could not find the requested resource");
}
