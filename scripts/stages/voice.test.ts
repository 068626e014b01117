/** Stages that run at the same time can be told apart, and what each waits for is shown. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { heldBack, voicesFor, type Voice } from "./voice.ts";

function recorded(): { readonly heard: string[]; readonly voice: Voice } {
  const heard: string[] = [];
  return {
    heard,
    voice: {
      say: (text) => void heard.push(text),
      progress: (text) => void heard.push(`progress ${text}`),
      working: (what) => void heard.push(`working on ${what}`),
      idle: () => void heard.push("idle"),
    },
  };
}

test("one alone speaks as it is", () => {
  const { voice } = recorded();
  assert.deepEqual(voicesFor(voice, ["unit"]), [voice]);
});

test("of two, each line says whose it is, and the work of both is shown until the last one is idle", () => {
  const { heard, voice } = recorded();
  const [first, second] = voicesFor(voice, ["etcd", "apiserver"]);
  first?.say("a\nb");
  first?.working("x");
  second?.working("y");
  second?.progress("half");
  first?.idle();
  second?.idle();
  assert.deepEqual(heard, [
    "etcd      │ a\netcd      │ b",
    "working on x",
    "working on x, y",
    "progress apiserver │ half",
    "working on y",
    "idle",
  ]);
});

test("two of one name are two", () => {
  const { heard, voice } = recorded();
  const [first, second] = voicesFor(voice, ["etcd", "etcd"]);
  first?.working("x");
  second?.working("y");
  first?.idle();
  assert.deepEqual(heard, ["working on x", "working on x, y", "working on y"]);
});

test("what is held back is told together when it is released, and only what is being done before", () => {
  const { heard, voice } = recorded();
  const { held, release } = heldBack(voice);
  held.say("a");
  held.working("x");
  held.say("b");
  assert.deepEqual(heard, ["working on x"]);
  release();
  release();
  assert.deepEqual(heard, ["working on x", "a\nb"]);
});
