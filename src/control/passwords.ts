/**
 * The passwords that a platform has read, by the name of their Secret. The decision learns only whether there is one, and
 * that it is another one than before: what it is goes to etcd and nowhere else.
 */
import type { PasswordFacts } from "../core/auth/facts.ts";

/** bcrypt reads no more. */
const LONGEST_BYTES = 72;

interface Known {
  readonly text: string;
  readonly version: number;
}

export class Passwords {
  readonly #known = new Map<string, Known>();
  #versions = 0;

  /** `text` as it was read; a line end after it is not part of it. */
  note(secret: string, text: string | undefined, where: string): PasswordFacts {
    const password = text?.replace(/\r?\n$/, "");
    const problem = password === undefined ? `${where} does not exist` : flawOf(password, where);
    if (password === undefined || problem !== undefined) {
      this.#known.delete(secret);
      return { problem: problem ?? where };
    }
    const before = this.#known.get(secret);
    if (before?.text === password) return { version: before.version };
    const known = { text: password, version: ++this.#versions };
    this.#known.set(secret, known);
    return { version: known.version };
  }

  get(secret: string): string | undefined {
    return this.#known.get(secret)?.text;
  }
}

function flawOf(password: string, where: string): string | undefined {
  if (password === "") return `${where} is empty`;
  if (Buffer.byteLength(password) > LONGEST_BYTES)
    return `${where} has more than ${LONGEST_BYTES} bytes, which etcd cannot check`;
  return undefined;
}
