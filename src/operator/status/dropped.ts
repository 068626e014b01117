/**
 * Fields of a status that the API server did not keep, because the definition there is older than this operator. Without
 * this memory the status that is wanted would differ from the one that is there for ever, and be written on every pass.
 */
import { sameContent } from "../../core/template/hash.ts";

interface Written {
  readonly wanted: object;
  /** What became of it. */
  readonly stored: object;
  /** By the monotonic clock. */
  readonly at: number;
  readonly fields: readonly string[];
}

/** The definition may have been replaced since; a write that changes nothing costs the API server next to nothing. */
const AGAIN_MS = 600_000;

export class Dropped {
  /** By kind and name. */
  readonly #written = new Map<string, Written>();

  /** What counts as written where `stored` is there: what was wanted, if that is what became of it. */
  before<T extends object>(key: string, stored: T | undefined, now: number): T | undefined {
    const known = this.#written.get(key);
    if (known === undefined || now - known.at >= AGAIN_MS) return stored;
    return sameContent(known.stored, stored) ? (known.wanted as T) : stored;
  }

  /** `stored`: the answer to a write. */
  wrote(key: string, wanted: object, stored: object | undefined, now: number): void {
    const fields = stored === undefined ? [] : [...new Set(missing(wanted, stored, "status"))];
    if (stored === undefined || fields.length === 0) this.#written.delete(key);
    else this.#written.set(key, { wanted, stored, at: now, fields });
  }

  forget(key: string): void {
    this.#written.delete(key);
  }

  get fields(): readonly string[] {
    return [...new Set([...this.#written.values()].flatMap(({ fields }) => fields))].toSorted();
  }
}

/** Paths that one has and the other lacks; those of a list have no index. */
function missing(wanted: unknown, stored: unknown, path: string): string[] {
  if (wanted === undefined || wanted === null) return [];
  if (stored === undefined) return [path];
  if (Array.isArray(wanted) && Array.isArray(stored))
    return wanted.flatMap((item, index) => missing(item, stored[index], `${path}[]`));
  if (!isFields(wanted) || !isFields(stored)) return [];
  return Object.entries(wanted).flatMap(([name, value]) => missing(value, stored[name], `${path}.${name}`));
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
