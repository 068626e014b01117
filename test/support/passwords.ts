/**
 * Passwords, tokens and keys of stores that tests set: each carries a mark, by which `npm test` finds it in whatever the
 * run wrote (scripts/search), also where no test looks.
 */
import assert from "node:assert/strict";

/** Not so in this file, or every listing of it would look like a leak. */
export const PASSWORD_MARK = ["quorate", "tests", "secret"].join("-");

/** The same for the same name. */
export function passwordOf(name: string): string {
  return `${PASSWORD_MARK}-${name}`;
}

/** Where a test hands a password to the product. */
export function assertMarked(password: string): void {
  assert.ok(
    password.includes(PASSWORD_MARK),
    "a password of a test is made by passwordOf(), so that it is found",
  );
}
