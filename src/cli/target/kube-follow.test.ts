/** `--watch` on an API server in memory: one list, then changes by a watch; lost connections and forgotten history. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { configMaps } from "../../kube/resources.ts";
import { bench, CONFIG_MAPS, noRandom, refusal, settle } from "../../kube/testing.ts";
import { KubeFailure } from "../../seams/kube-transport.ts";
import type { CliIo } from "../io.ts";
import { show } from "../output.ts";
import { KubeFollowing } from "./kube-follow.ts";

const SCOPE = { namespace: "default" };

function watching({ isTTY = false } = {}) {
  const { server, clock, client } = bench();
  const leaving = new AbortController();
  const { signal } = leaving;
  const explain = (error: Error) => error;
  const following = new KubeFollowing({
    client,
    clock,
    random: noRandom,
    timeoutMs: 15_000,
    signal,
    explain,
  });
  const out: string[] = [];
  const err: string[] = [];
  const io = {
    // oxlint-disable-next-line no-control-regex
    stdout: { write: (text: string) => out.push(text.replaceAll(/\x1b\[\d*[A-Z]/g, "")) },
    stderr: { write: (text: string) => err.push(text) },
    isTTY,
    clock,
    signal,
    env: {},
  } as unknown as CliIo;
  const look = async () => {
    const names = (await following.list(configMaps, SCOPE)).map(({ metadata }) => metadata?.name);
    return { data: names, text: () => names.join(" ") };
  };
  const start = async () => {
    try {
      await show(io, { output: "table", watch: true }, look, { follow: () => following });
    } finally {
      await following.close();
    }
  };
  /** Time passes in the steps in which it looks again. */
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 50) {
      await clock.advance(50);
      await settle();
    }
  };
  const asked = (parameter: string) =>
    server.requests.filter(({ query }) => query?.[parameter] !== undefined).length;
  return { server, out, err, start, pass, asked, leave: () => leaving.abort() };
}

test("a change is shown as soon as the API server tells of it, and looking again asks for nothing", async () => {
  const { server, out, start, pass, asked, leave } = watching();
  server.put(CONFIG_MAPS, "b");
  server.put(CONFIG_MAPS, "a");
  const ended = start();
  await pass(10_000);
  assert.deepEqual(out, ["a b\n"]);
  server.put(CONFIG_MAPS, "c");
  await pass(100);
  assert.deepEqual(out, ["a b\n", "\n", "a b c\n"]);
  server.remove(CONFIG_MAPS, "a");
  await pass(100);
  assert.equal(out.at(-1), "b c\n");
  assert.equal(server.requests.length, asked("watch"));
  assert.equal(server.requests.length, 1);
  leave();
  await ended;
  assert.equal(server.watching, 0);
});

test("a lost watch resumes where it was; where the server has forgotten that, everything is read again", async () => {
  const { server, out, start, pass, asked, leave } = watching();
  server.put(CONFIG_MAPS, "a");
  const ended = start();
  await pass(1_000);
  server.cut();
  server.put(CONFIG_MAPS, "b");
  await pass(2_000);
  assert.equal(out.at(-1), "a b\n");
  assert.equal(asked("sendInitialEvents"), 1);
  server.cut();
  server.put(CONFIG_MAPS, "c");
  server.put(CONFIG_MAPS, "d");
  server.compact();
  await pass(5_000);
  assert.equal(out.at(-1), "a b c d\n");
  assert.equal(asked("sendInitialEvents"), 2);
  leave();
  await ended;
});

for (const isTTY of [true, false])
  test(`an API server that stops answering is reported ${isTTY ? "below the screen" : "on standard error"}, and what is known stays`, async () => {
    const { server, out, err, start, pass, leave } = watching({ isTTY });
    server.put(CONFIG_MAPS, "a");
    const ended = start();
    await pass(1_000);
    server.intercept = () => new KubeFailure("not-sent", "connection", "connect ECONNREFUSED");
    server.cut();
    await pass(3_000);
    const told = /This is the state of \d\d:\d\d:\d\d; still trying to follow changes: .*ECONNREFUSED/;
    assert.match(isTTY ? (out.at(-1) ?? "") : err.join(""), told);
    assert.ok(out.at(-1)?.startsWith("a\n"));
    assert.equal(err.length, isTTY ? 0 : 1);
    server.intercept = () => undefined;
    server.put(CONFIG_MAPS, "b");
    await pass(10_000);
    assert.equal(out.at(-1), "a b\n");
    leave();
    await ended;
  });

test("who may not watch is told so, and so is who finds no server", async () => {
  for (const [verdict, expected] of [
    [refusal(403, "Forbidden", "forbidden"), /forbidden/],
    [new KubeFailure("not-sent", "connection", "connect ECONNREFUSED"), /ECONNREFUSED/],
  ] as const) {
    const { server, start, pass } = watching();
    server.intercept = () => verdict;
    const rejected = assert.rejects(start(), expected);
    await pass(500);
    await rejected;
  }
});

test("a server that does not stream lists is asked for one", async () => {
  const { server, out, start, pass, leave } = watching();
  server.watchList = "refused";
  server.put(CONFIG_MAPS, "a");
  const ended = start();
  await pass(2_000);
  server.put(CONFIG_MAPS, "b");
  await pass(100);
  assert.deepEqual(out, ["a\n", "\n", "a b\n"]);
  leave();
  await ended;
});
