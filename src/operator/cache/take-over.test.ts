import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock, settle } from "../../kube/testing.ts";
import { TakeOver } from "./take-over.ts";

/** Caches that catch up, fail or hang as the test says. */
function world(resources: readonly string[]) {
  const clock = new ManualClock();
  const log: string[] = [];
  const tries: string[] = [];
  const answers = new Map<string, "now" | "never" | Error>(resources.map((resource) => [resource, "never"]));
  const caches = resources.map((resource) => ({
    resource,
    catchUp: (signal: AbortSignal) => {
      tries.push(resource);
      const answer = answers.get(resource);
      if (answer === "now") return Promise.resolve();
      if (answer instanceof Error) return Promise.reject(answer);
      return new Promise<void>((_, reject) =>
        signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true }),
      );
    },
  }));
  const takeOver = new TakeOver({ clock, log: (_, message) => void log.push(message), caches: () => caches });
  const term = new AbortController();
  let over = false;
  const done = takeOver.run(term.signal).then(() => (over = true));
  return { clock, log, tries, answers, takeOver, term, done, isOver: () => over };
}

test("it is over when every cache has caught up, and which ones are waited for is known", async () => {
  const { clock, answers, takeOver, tries, isOver } = world(["pods", "secrets", "pods"]);
  answers.set("secrets", "now");
  await clock.advance(29_000);
  assert.deepEqual(takeOver.catchingUp, { forMs: 29_000, resources: ["pods", "secrets"] });
  await clock.advance(2_000);
  assert.deepEqual(takeOver.catchingUp?.resources, ["pods"]);
  answers.set("pods", "now");
  await clock.advance(31_000);
  assert.ok(isOver());
  assert.equal(takeOver.catchingUp, undefined);
  assert.equal(tries.filter((resource) => resource === "secrets").length, 2, "not asked again once it has");
});

test("what fails is tried again every second, and told", async () => {
  const { clock, log, answers, isOver, tries } = world(["pods"]);
  answers.set("pods", new Error("the server is busy"));
  await clock.advance(31_000);
  await clock.advance(3_000);
  assert.ok(tries.length >= 3);
  assert.match(log.at(-1) ?? "", /waiting for the cache of pods to catch up before acting: .*busy/);
  assert.equal(isOver(), false);
  answers.set("pods", "now");
  await clock.advance(1_000);
  assert.ok(isOver());
});

test("it ends with the term, and quietly", async () => {
  const { clock, log, term, done, takeOver, isOver } = world(["pods"]);
  await clock.advance(5_000);
  term.abort(new Error("lost"));
  await settle();
  await done;
  assert.ok(isOver());
  assert.equal(takeOver.catchingUp, undefined);
  assert.deepEqual(log, []);
});
