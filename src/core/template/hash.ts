/**
 * Structural equality and a short name for a value, without crypto: core stays free of imports, and these
 * names only ever tell two templates apart. Objects are compared by content, in any key order.
 */

/** JSON with sorted keys and without undefined: equal values give equal text. Asked for on every pass, so a plain loop. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) {
    let text = "";
    for (const item of value) text += text === "" ? canonical(item) : `,${canonical(item)}`;
    return `[${text}]`;
  }
  if (value === null || typeof value !== "object") return JSON.stringify(value) ?? "null";
  let text = "";
  for (const key of Object.keys(value).toSorted()) {
    const field = (value as Record<string, unknown>)[key];
    if (field === undefined) continue;
    text += `${text === "" ? "" : ","}${JSON.stringify(key)}:${canonical(field)}`;
  }
  return `{${text}}`;
}

/** The same content; what is one object is not looked into. */
export function sameContent(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const [left, right] = [a as Record<string, unknown>, b as Record<string, unknown>];
  const keys = Object.keys(left);
  for (const key of keys) if (!sameContent(left[key], right[key])) return false;
  return Object.keys(right).every((key) => key in left || right[key] === undefined);
}

/** Two rounds of 32-bit FNV-1a over UTF-16 units, as 16 hex digits. */
export function shortHash(text: string): string {
  return shown(mixed(START, text));
}

/** The same of texts that begin alike, by what follows: their beginning is read once. */
export function shortHashes(beginning: string): (rest: string) => string {
  const state = mixed(START, beginning);
  return (rest) => shown(mixed(state, rest));
}

interface State {
  readonly a: number;
  readonly b: number;
  readonly length: number;
}

const START: State = { a: 0x811c9dc5, b: 0x01000193, length: 0 };

function mixed({ a, b, length }: State, text: string): State {
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    a = Math.imul(a ^ unit, 0x01000193);
    b = Math.imul(b ^ (unit + length + i), 0x85ebca6b);
  }
  return { a, b, length: length + text.length };
}

function shown({ a, b }: State): string {
  return (a >>> 0).toString(16).padStart(8, "0") + (b >>> 0).toString(16).padStart(8, "0");
}
