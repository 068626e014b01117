import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../kube/testing.ts";
import { MemoryDisk } from "../../local/testing/memory.ts";
import { fileLogs } from "./local-logs.ts";
import type { LogWishes } from "./target.ts";

const FILE = "/logs/etcd-1.log";
const fileOf = (member: string) => `/logs/${member}.log`;

function reading(text: string | undefined, more: Partial<LogWishes> = {}) {
  const disk = new MemoryDisk();
  const clock = new ManualClock();
  const append = (added: string) => {
    disk.files.set(FILE, Buffer.concat([disk.files.get(FILE) ?? new Uint8Array(0), Buffer.from(added)]));
  };
  if (text !== undefined) append(text);
  const leaving = new AbortController();
  const texts: string[] = [];
  const wishes: LogWishes = { members: ["etcd-1"], follow: false, ...more };
  const ended = (async () => {
    for await (const line of fileLogs({ disk, clock, fileOf }, wishes, leaving.signal)) texts.push(line.text);
  })();
  const leave = async () => {
    leaving.abort();
    await ended;
  };
  return { disk, clock, texts, append, ended, leave };
}

const logged = (ms: number, msg: string) =>
  JSON.stringify({ level: "info", ts: new Date(ms).toISOString(), msg });

test("--since leaves out what is older, and --lines all but the last ones", async () => {
  const now = new ManualClock().now();
  const text = `${logged(now - 60_000, "old")}\n${logged(now - 500, "new")}\nno JSON\n`;
  const since = reading(text, { sinceMs: 1_000 });
  await since.ended;
  assert.deepEqual(since.texts, [logged(now - 500, "new"), "no JSON"]);
  const lines = reading(text, { lines: 1 });
  await lines.ended;
  assert.deepEqual(lines.texts, ["no JSON"]);
});

test("-f shows each line once and whole, also one that is half written when it begins", async () => {
  const { texts, append, clock, leave } = reading("one\ntw", { follow: true, lines: 50 });
  await clock.advance(300);
  assert.deepEqual(texts, ["one"]);
  append("o ✓\nthr");
  await clock.advance(300);
  append("ee\n");
  await clock.advance(300);
  assert.deepEqual(texts, ["one", "two ✓", "three"]);
  await leave();
});

test("-f with --since follows on with every new line, also of a member whose log begins later or again", async () => {
  const { texts, append, clock, disk, leave } = reading(undefined, { follow: true, sinceMs: 1_000 });
  await clock.advance(300);
  append("first\nsecond\n");
  await clock.advance(300);
  disk.files.delete(FILE);
  append("again\n");
  await clock.advance(300);
  assert.deepEqual(texts, ["no log: it has not started yet", "first", "second", "again"]);
  await leave();
});

test("the end of a line before what was read is not shown as one", async () => {
  const { texts, ended } = reading(`${"x".repeat(5_000)}\nlast\n`, { lines: 1 });
  await ended;
  assert.deepEqual(texts, ["last"]);
});

test("-f follows a member that joins from its first line on, whatever --lines says", async () => {
  const members = ["etcd-1"];
  const membersNow = () => Promise.resolve([...members]);
  const { disk, texts, append, clock, leave } = reading("one\n", { follow: true, lines: 1, membersNow });
  await clock.advance(300);
  members.push("etcd-2");
  disk.files.set("/logs/etcd-2.log", Buffer.from("first\nsecond\n"));
  await clock.advance(3_000);
  append("two\n");
  await clock.advance(300);
  assert.deepEqual(texts, ["one", "first", "second", "two"]);
  await leave();
});
