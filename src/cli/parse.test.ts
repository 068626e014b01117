import assert from "node:assert/strict";
import { test } from "node:test";
import { UsageError } from "./io.ts";
import { listed, oneOf, parseFlags } from "./parse.ts";

const options = {
  name: { type: "string" },
  follow: { type: "boolean" },
  output: { type: "string", short: "o" },
} as const;

test("flags and arguments are told apart", () => {
  const { values, positionals } = parseFlags(["demo-1", "--name", "demo", "--follow", "-o", "json"], options);
  assert.deepEqual({ ...values }, { name: "demo", follow: true, output: "json" });
  assert.deepEqual(positionals, ["demo-1"]);
});

const wrong: readonly [args: readonly string[], says: RegExp][] = [
  [["--nam", "x"], /^unknown flag --nam; did you mean --name\?$/],
  [["--folow"], /^unknown flag --folow; did you mean --follow\?$/],
  [["--zzz"], /^unknown flag --zzz; use one of --name, --follow, --output$/],
  [["-z"], /^unknown flag -z; use one of --name/],
  [["--constructor"], /^unknown flag --constructor;/],
  [["--name"], /--name/],
  [["--follow=yes"], /--follow/],
];

for (const [args, says] of wrong)
  test(`"${args.join(" ")}" is refused: ${says.source}`, () => {
    assert.throws(
      () => parseFlags(args, options),
      (error) => error instanceof UsageError && says.test(error.message),
    );
  });

test("a word that is none of the known ones gets the one that was meant, or all of them", () => {
  const known = ["create", "list", "delete"];
  assert.equal(oneOf("craete", known), "did you mean create?");
  assert.equal(oneOf("del", known), "did you mean delete?");
  assert.equal(oneOf("frobnicate", known), "use create, list or delete");
  assert.equal(listed(["all"]), "all");
});
