/**
 * "Did you mean …?": the known words nearest to a mistyped one.
 */

/** At most two words within two edits, or that begin with what was typed; the nearest first. */
export function suggestions(typed: string, known: readonly string[]): string[] {
  return known
    .map((word) => ({
      word,
      distance: word.startsWith(typed) && typed !== "" ? 0 : editDistance(typed, word),
    }))
    .filter(({ word, distance }) => distance <= Math.min(2, word.length - 1))
    .toSorted((a, b) => a.distance - b.distance)
    .slice(0, 2)
    .map(({ word }) => word);
}

/** Insertions, deletions and replacements needed to turn `a` into `b`. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replace = at(row, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replace, at(row, j) + 1, at(next, j - 1) + 1));
    }
    row = next;
  }
  return at(row, b.length);
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Number.POSITIVE_INFINITY;
}
