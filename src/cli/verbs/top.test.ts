/** `top` on a terminal and in a script: what ends it, and what does not. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { dispatch } from "../dispatch.ts";
import { CommandError, EXIT } from "../exit.ts";
import { demo, FakeTarget, QuickClock } from "../testing/fake-target.ts";
import { collectingIo } from "../testing.ts";
import type { ClusterObject, Target } from "../target/target.ts";
import { verbs } from "../verbs.ts";

const many = (count: number): ClusterObject[] => {
  const one = demo();
  return Array.from({ length: count }, (_, n) => ({
    ...one,
    metadata: { ...one.metadata, name: `etcd-${n}`, uid: `u-${n}` },
  }));
};

/** Runs it with a script: what happens at each look. */
async function top(
  target: FakeTarget,
  { isTTY = true, rows = 24, at = () => undefined }: TopOptions,
  ...args: string[]
) {
  const leaving = new AbortController();
  const screens: string[] = [];
  const read = target.clusters.bind(target);
  let looks = 0;
  target.clusters = async () => {
    at(++looks, () => leaving.abort());
    return await read();
  };
  const io = collectingIo({
    stdout: { write: (text) => screens.push(text), ...(isTTY && { rows, columns: 100 }) },
    env: { NO_COLOR: "1" },
    isTTY,
    signal: leaving.signal,
    clock: new QuickClock(),
    command: "kubectl etcd",
    target: target as unknown as Target,
  });
  const code = await dispatch(["top", ...args], verbs, "0.0.0", io);
  // oxlint-disable-next-line no-control-regex
  const plain = screens.map((text) => text.replaceAll(/\x1b\[\d*[A-Z]/g, "").split("\n"));
  return { code, screens: plain, err: io.err(), looks };
}

interface TopOptions {
  readonly isTTY?: boolean;
  readonly rows?: number;
  readonly at?: (look: number, leave: () => void) => void;
}

describe("on a terminal", () => {
  test("as many clusters are shown as there are rows for, and Ctrl-C ends it with 0", async () => {
    const { code, screens } = await top(new FakeTarget(many(90)), {
      rows: 24,
      at: (look, leave) => look === 3 && leave(),
    });
    assert.equal(code, EXIT.done);
    const [first = []] = screens;
    assert.equal(first.length, 24);
    assert.deepEqual(first.slice(-2), ["and 69 more", ""]);
    const tall = await top(new FakeTarget(many(90)), {
      rows: 120,
      at: (look, leave) => look === 2 && leave(),
    });
    assert.equal(tall.screens[0]?.length, 92);
  });

  test("a list that fails is told below what is known, and the next one is shown again", async () => {
    const { code, screens, err } = await top(new FakeTarget(many(2)), {
      at: (look, leave) => {
        if (look === 2) throw new CommandError(EXIT.notFound, "the API server does not answer");
        if (look === 4) leave();
      },
    });
    assert.deepEqual([code, err], [EXIT.done, ""]);
    const [, second = [], third = []] = screens;
    assert.ok(second.some((line) => line.startsWith("etcd-0")));
    assert.match(
      second.at(-2) ?? "",
      /^This is the state of \d\d:\d\d:\d\d; still trying: the API server does not/,
    );
    assert.ok(!third.some((line) => line.includes("still trying")));
  });

  test("the first list that fails ends it, and Ctrl-C meanwhile is no failure", async () => {
    const failing = (error: Error) => () => {
      throw error;
    };
    const denied = await top(new FakeTarget(many(2)), {
      at: failing(new CommandError(EXIT.denied, "you may not")),
    });
    assert.deepEqual([denied.code, denied.screens], [EXIT.denied, []]);
    const left = await top(new FakeTarget(many(2)), {
      at: (_, leave) => {
        leave();
        throw new Error("aborted");
      },
    });
    assert.deepEqual([left.code, left.err], [EXIT.done, ""]);
  });
});

describe("in a script", () => {
  test("all clusters are printed once, after two looks", async () => {
    const { code, screens, looks } = await top(new FakeTarget(many(90)), { isTTY: false });
    assert.deepEqual([code, looks, screens.length], [EXIT.done, 2, 1]);
    assert.equal(screens[0]?.length, 92);
  });

  test("Ctrl-C before it is printed is told, for nothing was printed", async () => {
    const { code, screens } = await top(new FakeTarget(many(2)), { isTTY: false, at: (_, leave) => leave() });
    assert.deepEqual([code, screens], [EXIT.interrupted, []]);
  });
});
