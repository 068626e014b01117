import assert from "node:assert/strict";
import { test } from "node:test";
import { parseCommandLine } from "./command-line.ts";
import { UsageError } from "./io.ts";
import { CLUSTER, type VerbData } from "./verb-data.ts";

const data = {
  name: "scale",
  summary: "change the number of members",
  arguments: [CLUSTER, { name: "replicas", help: "members" }],
  flags: {
    since: { kind: "duration", value: "duration", help: "how far back" },
    lines: { kind: "number", value: "n", default: 20, help: "how many" },
    member: { kind: "list", value: "name", help: "which" },
  },
  groups: ["target", "output", "watch"],
  rest: "words",
  examples: [{ does: "Five members", line: "scale demo 5" }],
} as const satisfies VerbData;

function parse(...args: string[]) {
  return parseCommandLine(data, args, {});
}

test("flags and arguments may stand in any order, with defaults for what is not given", () => {
  const { flags, args, rest } = parse("demo", "-n", "prod", "5", "--watch", "--member", "a,b", "--member=c");
  assert.deepEqual(args, { cluster: "demo", replicas: "5" });
  assert.equal(flags["namespace"], "prod");
  assert.equal(flags["watch"], true);
  assert.equal(flags["local"], false);
  assert.equal(flags["output"], "table");
  assert.equal(flags["lines"], 20);
  assert.deepEqual(flags["member"], ["a", "b", "c"]);
  assert.deepEqual(rest, []);
});

test("an optional argument before a required one is left out first", () => {
  assert.deepEqual(parse("5").args, { replicas: "5" });
});

test("durations are milliseconds", () => {
  assert.equal(parse("5", "--since", "1h30m").flags["since"], 5_400_000);
});

test("what stands after -- is passed on", () => {
  assert.deepEqual(parse("5", "--", "get", "--prefix", "/").rest, ["get", "--prefix", "/"]);
});

const wrong: readonly [args: string[], says: RegExp][] = [
  [
    ["5", "--namespac", "x"],
    /unknown flag --namespac; did you mean --namespace\? See quorate scale --help\./,
  ],
  [["5", "--wathc"], /did you mean --watch\?/],
  [["5", "-z"], /unknown flag -z\. See/],
  [["5", "--output", "jsn"], /--output jsn: must be one of table, wide, json, yaml; did you mean json\?/],
  [["5", "--lines", "many"], /--lines many: must be a whole number/],
  [["5", "--since", "soon"], /--since soon: must be a duration such as 90s/],
  [["5", "-n"], /-n needs a value: -n <namespace>/],
  [["5", "-n", "--watch"], /-n needs a value before --watch; if --watch is the value, write -n=--watch/],
  [["5", "--watch=yes"], /--watch takes no value, but got "yes"/],
  [[], /missing: <replicas>/],
  [["a", "5", "6", "7"], /too many arguments: 6 7; put \S.* after --\. See quorate scale --help/],
];

for (const [args, says] of wrong) {
  test(`"${args.join(" ")}" is refused: ${says.source}`, () => {
    assert.throws(
      () => parse(...args),
      (error) => error instanceof UsageError && says.test(error.message),
    );
  });
}
