import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { test } from "node:test";
import { systemClock } from "../seams/clock.ts";
import { systemRandom } from "../seams/random.ts";
import { dispatch } from "./dispatch.ts";
import { CommandError, EXIT } from "./exit.ts";
import { UsageError, type CliIo, type Verbs } from "./io.ts";

function fakeIo(env: Record<string, string> = {}) {
  const out: string[] = [];
  const err: string[] = [];
  const io: CliIo = {
    stdin: Readable.from([]),
    stdout: { write: (text) => out.push(text) },
    stderr: { write: (text) => err.push(text) },
    env,
    cwd: ".",
    isTTY: false,
    signal: new AbortController().signal,
    clock: systemClock,
    random: systemRandom,
  };
  return { io, out: () => out.join(""), err: () => err.join("") };
}

let loaded: string[] = [];

function verb(name: string, run: (args: string[]) => Promise<number>): Verbs[string] {
  return async () => {
    loaded.push(name);
    return { summary: `does ${name}`, usage: `usage of ${name}`, run };
  };
}

const verbs: Verbs = {
  local: verb("local", async (args) => args.length),
  etcd: verb("etcd", async () => {
    throw new UsageError("no such version: 9.9.9");
  }),
  fail: verb("fail", async () => {
    throw new Error("the disk is full");
  }),
};

async function call(argv: string[], env: Record<string, string> = {}) {
  loaded = [];
  const fake = fakeIo(env);
  const code = await dispatch(argv, verbs, "1.2.3", fake.io);
  return { code, out: fake.out(), err: fake.err() };
}

test("a verb gets the arguments after its name and its answer is the exit code", async () => {
  assert.deepEqual(await call(["local", "up", "--size", "3"]), { code: 3, out: "", err: "" });
  assert.deepEqual(loaded, ["local"], "no other verb is loaded");
});

test("--help lists every verb with its one line, and <verb> --help prints the verb's own text", async () => {
  const all = await call(["--help"]);
  assert.equal(all.code, 0);
  for (const name of Object.keys(verbs)) assert.match(all.out, new RegExp(`${name} +does ${name}`));
  assert.deepEqual(await call(["etcd", "--help"]), { code: 0, out: "usage of etcd\n", err: "" });
  assert.deepEqual(await call(["help", "etcd"]), { code: 0, out: "usage of etcd\n", err: "" });
});

test("a verb of a verb has a help text of its own", async () => {
  const inner: Verbs = { kill: verb("kill", async () => 0) };
  const outer: Verbs = {
    local: async () => ({ summary: "", usage: "usage of local", verbs: inner, run: async () => 0 }),
  };
  const ask = async (...argv: string[]) => {
    const fake = fakeIo();
    await dispatch(argv, outer, "1.2.3", fake.io);
    return fake.out() + fake.err();
  };
  assert.equal(await ask("local", "kill", "m1", "--help"), "usage of kill\n");
  assert.equal(await ask("help", "local", "kill"), "usage of kill\n");
  assert.equal(await ask("local", "--help"), "usage of local\n");
  assert.match(await ask("local", "kil", "--help"), /Did you mean kill\?/);
});

test("--help after -- belongs to the program behind it", async () => {
  assert.equal((await call(["local", "--", "--help"])).code, 2);
});

test("hints name the program as it was called", async () => {
  const fake = fakeIo();
  await dispatch(["lcoal"], verbs, "1.2.3", { ...fake.io, command: "kubectl etcd" });
  assert.match(fake.err(), /^kubectl etcd: unknown verb .* See kubectl etcd --help\.\n$/);
});

test("an expected failure has its own exit code, and one line", async () => {
  const denied: Verbs = {
    list: verb("list", async () => {
      throw new CommandError(EXIT.denied, "you may not list clusters");
    }),
  };
  const fake = fakeIo();
  assert.equal(await dispatch(["list"], denied, "1.2.3", fake.io), 4);
  assert.equal(fake.err(), "quorate: you may not list clusters\n");
});

test("--debug after -- belongs to the program behind it", async () => {
  assert.equal((await call(["local", "--", "--debug"])).code, 2);
});

test("--version prints the version", async () => {
  assert.deepEqual(await call(["--version"]), { code: 0, out: "quorate 1.2.3\n", err: "" });
});

test("an unknown verb exits with 2 and suggests the nearest", async () => {
  const answer = await call(["lcoal"]);
  assert.equal(answer.code, 2);
  assert.match(answer.err, /unknown verb "lcoal"\. Did you mean local\?/);
  assert.match((await call(["loc"])).err, /Did you mean local\?/);
  assert.match((await call(["frobnicate"])).err, /One of: local, etcd, fail\./);
});

test("a word of JavaScript's own objects is not a verb", async () => {
  assert.equal((await call(["constructor"])).code, 2);
});

test("a usage error is one line and exit code 2; any other error one line and exit code 1", async () => {
  assert.deepEqual(await call(["etcd"]), { code: 2, out: "", err: "quorate: no such version: 9.9.9\n" });
  assert.deepEqual(await call(["fail"]), { code: 1, out: "", err: "quorate: the disk is full\n" });
});

test("a stack is printed only when asked for", async () => {
  assert.match((await call(["fail", "--debug"])).err, /the disk is full\n +at /);
  assert.match((await call(["fail"], { QUORATE_DEBUG: "1" })).err, /the disk is full\n +at /);
});
