/** What must hold for every verb that there is, and what the shells ask of them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { nextWords } from "./completion/words.ts";
import { COMMON_FLAGS, FLAG_GROUPS } from "./flag.ts";
import { parseCommandLine } from "./command-line.ts";
import { everyVerb } from "./testing/every-verb.ts";
import { flagsOf } from "./verb-data.ts";
import { usageText } from "./verb.ts";
import { verbs } from "./verbs.ts";

test("every verb has a name as it is called, a one-line summary and a help that names the command", async () => {
  for await (const { name, verb } of everyVerb(verbs)) {
    assert.equal(verb.data?.name ?? verb.group?.name ?? name, name);
    assert.doesNotMatch(verb.summary, /\n|\.$|^[A-Z](?![A-Z])/, `${name}: ${verb.summary}`);
    if (name === "operator") continue; // Run by a manifest, under its own name.
    const help = await usageText(verb, { command: "kubectl etcd" });
    assert.match(help, /^Usage:\s+(?:eval "\$\()?kubectl etcd /, name);
    assert.doesNotMatch(help, /quorate (?:local|etcd) /, name);
  }
});

test("every help shows examples: calls of this verb, with flags that it lists", async () => {
  for await (const { name, verb } of everyVerb(verbs)) {
    if (verb.data?.hidden) continue;
    const command = "kubectl etcd";
    const help = await usageText(verb, { command });
    const [, examples = ""] = help.split("\nExamples:\n");
    const calls = examples.match(/^ {2}(?:kubectl etcd|quorate) .+$/gm) ?? [];
    const own = calls.filter((line) => ` ${line.trim()} `.includes(` ${name} `));
    assert.ok(own.length > 0, `${name} has no example of its own`);
    if (verb.data || verb.group) continue; // Parsed below, or by whom they call.
    for (const flag of own.flatMap((line) => line.match(/ --[a-z-]+/g) ?? []))
      assert.ok(help.split("\nExamples:")[0]?.includes(`${flag} `), `${name}: ${flag} is not in its help`);
  }
});

test("no two flags of a verb share a letter, and no own flag hides a shared one", async () => {
  for await (const { name, verb } of everyVerb(verbs)) {
    if (!verb.data) continue;
    const letters = Object.values(flagsOf(verb.data)).flatMap(({ short }) => short ?? []);
    assert.equal(new Set(letters).size, letters.length, `${name}: ${letters.join(" ")}`);
    const shared = Object.assign(
      {},
      COMMON_FLAGS,
      ...(verb.data.groups ?? []).map((group) => FLAG_GROUPS[group]),
    );
    for (const own of Object.keys(verb.data.flags ?? {}))
      assert.ok(!Object.hasOwn(shared, own), `${name} --${own}`);
  }
});

test("every example is a command line that its verb accepts", async () => {
  for await (const { name, verb } of everyVerb(verbs)) {
    for (const { line } of verb.data?.examples ?? []) {
      const [own = ""] = line.split(/ (?:>|\||&&) /);
      assert.ok(own.startsWith(name), `${name}: ${line}`);
      const words = own
        .slice(name.length)
        .trim()
        .split(/\s+/)
        .filter((word) => word !== "");
      parseCommandLine(verb.data!, words, {});
    }
  }
});

async function offered(...words: string[]): Promise<string[]> {
  const next = await nextWords(words, verbs);
  return next.kind === "words" ? next.words.map(({ word }) => word) : [`<${next.kind}>`];
}

test("completion offers verbs, verbs of verbs, flags and their values", async () => {
  assert.deepEqual(await offered("me"), ["members", "member"]);
  assert.deepEqual(await offered("local", "ki"), ["kill"]);
  assert.deepEqual(await offered("list", "--all"), ["--all-namespaces"]);
  assert.deepEqual(await offered("list", "-o", "j"), ["json"]);
  assert.deepEqual(await offered("list", "--output=j"), ["json"]);
  assert.deepEqual(await offered("list", "--kubeconfig", ""), ["<files>"]);
  assert.deepEqual(await offered("list", "--kubeconfig=/etc"), ["<files>"]);
  assert.deepEqual(await offered("list", "--watch=y"), []);
  assert.deepEqual(await offered("completion", "z"), ["zsh"]);
  assert.deepEqual(await offered("nonsense", ""), []);
  assert.ok(!(await offered("")).includes("__complete"));
});

test("completion asks for the names of clusters where one is an argument", async () => {
  assert.deepEqual(await nextWords(["members", "-n", "prod", "de"], verbs), {
    kind: "names",
    of: "cluster",
    given: ["members", "-n", "prod", "de"],
  });
});
