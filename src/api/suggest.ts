/**
 * "Did you mean …?" for an unknown field: a sibling that looks alike, else a field of that name
 * elsewhere in the resource, else the fields there are.
 */
import type { SchemaNode } from "./json-schema.ts";
import { joinPath, nodeAt } from "./path.ts";

/** Longer lists help nobody. */
const MOST_FIELDS_LISTED = 16;

/** A text to append to the message; empty when there is nothing to say. */
export function suggestField(root: SchemaNode, parent: readonly PropertyKey[], unknown: string): string {
  const node = nodeAt(root, parent);
  const siblings = Object.keys(node?.properties ?? {});
  const alike = nearest(unknown, siblings);
  if (alike !== undefined) return `: did you mean "${alike}"?`;
  const elsewhere = fieldPaths(root, "").find(
    (path) => path.split(".").at(-1)?.toLowerCase() === unknown.toLowerCase(),
  );
  if (elsewhere !== undefined) return `: did you mean "${elsewhere}"?`;
  if (siblings.length === 0 || siblings.length > MOST_FIELDS_LISTED) return "";
  return `: the fields here are ${siblings.toSorted().join(", ")}`;
}

/** The most similar candidate, if it is similar enough to be meant. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  const limit = Math.max(1, Math.floor(word.length / 3));
  let best: { candidate: string; distance: number } | undefined;
  for (const candidate of candidates) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (distance <= limit && (best === undefined || distance < best.distance)) best = { candidate, distance };
  }
  return best?.candidate;
}

/** Insertions, deletions, replacements and swaps of neighbours. */
export function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let above = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1];
      let cost = Math.min(
        (above[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (above[column - 1] ?? 0) + (same ? 0 : 1),
      );
      const swapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      if (swapped) cost = Math.min(cost, (before[column - 2] ?? 0) + 1);
      current.push(cost);
    }
    before = above;
    above = current;
  }
  return above[b.length] ?? 0;
}

function fieldPaths(node: SchemaNode, path: string): string[] {
  return Object.entries(node.properties ?? {}).flatMap(([name, child]) => {
    const field = joinPath(path, name);
    return name === "status" || name === "metadata" ? [] : [field, ...fieldPaths(child, field)];
  });
}
