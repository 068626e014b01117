/** The comparison with auth on itself: the model agrees with another model, and a planted fault is found. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { SeededRandom } from "../../../engine/random.ts";
import { conformAuth, type AuthRun } from "./auth-run.ts";
import type { Call, Outcome } from "./calls.ts";
import { ModelSide } from "./model-side.ts";
import type { Slot } from "./side.ts";

const slot: Slot = { name: "m1", clientUrl: "http://127.0.0.1:2379", peerUrl: "http://127.0.0.1:2380" };

/** Lets everybody delete. */
class Faulty extends ModelSide {
  override async call(at: Slot, call: Call, timeoutMs: number): Promise<Outcome> {
    const answer = await super.call(at, call, timeoutMs);
    if (call.kind !== "delete" || answer.ok) return answer;
    return { ok: true, value: { deleted: "0" } };
  }
}

async function against(real: ModelSide, more: Partial<AuthRun> = {}) {
  const found: string[] = [];
  const report = await conformAuth({
    real,
    slots: [slot],
    version: "3.6.16",
    seed: 3,
    calls: 200,
    callsPerRound: 100,
    now: () => real.scheduler.now,
    wait: (ms) => real.pass(ms),
    onDifference: (text) => found.push(text),
    ...more,
  });
  return { report, found };
}

test("the model agrees with itself under other chances, and both sides are asked what is refused", async () => {
  const { report, found } = await against(new ModelSide(new SeededRandom(99)));
  assert.deepEqual(found, []);
  assert.ok(report.refused > 40 && report.calls - report.refused > 40, JSON.stringify(report));
});

const three: readonly Slot[] = [1, 2, 3].map((number) => ({
  name: `m${number}`,
  clientUrl: `https://127.0.0.1:${number}2379`,
  peerUrl: `http://127.0.0.1:${number}2380`,
}));
const MEMBERS = { slots: three, clientTLS: {}, restarts: 0.1, calls: 400, callsPerRound: 200 };

test("so it does with several members that restart, whose callers come by certificates", async () => {
  const { report, found } = await against(new ModelSide(new SeededRandom(99)), MEMBERS);
  assert.deepEqual(found, []);
  assert.ok(report.restarts > 5, JSON.stringify(report));
  assert.ok(report.refused > 40 && report.calls - report.refused > 40, JSON.stringify(report));
});

/** Remembers its tokens when it restarts. */
class Remembering extends ModelSide {
  override async call(at: Slot, call: Call, timeoutMs: number): Promise<Outcome> {
    const server = this.server(at);
    if (server) server.bootIndex = 0;
    return await super.call(at, call, timeoutMs);
  }
}

/** Takes the name of a certificate before that of a token. */
class Preferring extends ModelSide {
  override async call(at: Slot, call: Call, timeoutMs: number): Promise<Outcome> {
    if (this.bearer.commonName) this.bearer.token = undefined;
    return await super.call(at, call, timeoutMs);
  }
}

for (const [what, side] of [
  ["a token that a member should have forgotten", Remembering],
  ["a certificate that counts more than a token", Preferring],
] as const)
  test(`${what} is found`, async () => {
    const { report } = await against(new side(new SeededRandom(99)), MEMBERS);
    assert.ok(report.disagreements > 0);
  });

test("a permission that one side does not ask for is found", async () => {
  const { report, found } = await against(new Faulty(new SeededRandom(99)));
  assert.ok(report.disagreements > 0);
  assert.match(found[0] ?? "", /"kind":"delete".*\n {2}real: .*\n {2}model: .*(?:denied|empty|token)/);
});
