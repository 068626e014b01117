import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "kubernetes-types/core/v1.d.ts";
import { healthy } from "../../core/testing/cluster.ts";
import { MemberClocks } from "./member-clocks.ts";

const NOW = Date.UTC(2030, 0, 1);

const podOn = (node: string | undefined, podIP?: string): Pod => ({
  metadata: { name: "demo-1", uid: "pod-1" },
  spec: { containers: [], ...(node !== undefined && { nodeName: node }) },
  status: { phase: "Running", ...(podIP !== undefined && { podIP }) },
});

/** Members whose clock is off, that take a while to answer. */
function world() {
  const time = { at: 0 };
  const member = { aheadMs: 0, tookMs: 0, answers: true };
  const asked: string[] = [];
  const noted: [string, number][] = [];
  let pods: readonly Pod[] = [];
  const { members } = healthy();
  const clocks = new MemberClocks({
    key: "default/demo",
    stores: { pod: (key) => pods[Number(key.slice("default/demo-".length)) - 1] },
    reach: {
      date: (url) => {
        asked.push(url);
        const wrote = NOW + time.at + member.tookMs / 2 + member.aheadMs;
        time.at += member.tookMs;
        return Promise.resolve(member.answers ? Math.floor(wrote / 1_000) * 1_000 : undefined);
      },
    },
    clock: { now: () => 0, monotonic: () => time.at, timer: () => ({ cancel: () => undefined }) },
    serverNow: () => NOW + time.at,
    nodeClocks: { note: (node, aheadMs) => void noted.push([node, aheadMs]) },
  });
  /** These are the Pods of the first members, which run. */
  const ask = async (present: readonly Pod[]) => {
    pods = present;
    await clocks.ask(members);
  };
  return { time, member, asked, noted, clocks: { ask } };
}

test("the Date of a member's answer tells how far the clock of its node is off", async () => {
  for (const aheadMs of [90_000, 0, -600_000]) {
    const { member, asked, noted, clocks } = world();
    Object.assign(member, { aheadMs, tookMs: 400 });
    await clocks.ask([podOn("n1", "10.0.0.7")]);
    assert.deepEqual(asked, ["http://10.0.0.7:2381/livez"]);
    const [[node, found] = ["", Number.NaN]] = noted;
    assert.equal(node, "n1");
    assert.ok(Math.abs(found - aheadMs) <= 500, String(found));
  }
});

test("each Pod is asked every five minutes, sooner where none or a slow answer came, and never without an address", async () => {
  const { time, member, asked, noted, clocks } = world();
  await clocks.ask([podOn("n1"), podOn(undefined, "10.0.0.7")]);
  assert.deepEqual(asked, []);
  const pod = podOn("n1", "fd00::7");
  member.answers = false;
  await clocks.ask([pod]);
  Object.assign(member, { answers: true, tookMs: 1_200 });
  time.at += 15_000;
  await clocks.ask([pod]);
  assert.equal(asked.length, 2);
  assert.deepEqual(noted, []);
  member.tookMs = 0;
  time.at += 15_000;
  await clocks.ask([pod]);
  assert.equal(noted.length, 1);
  for (const [afterMs, times] of [
    [299_000, 3],
    [2_000, 4],
  ] as const) {
    time.at += afterMs;
    await clocks.ask([pod]);
    assert.equal(asked.length, times);
  }
  assert.equal(asked[0], "http://[fd00::7]:2381/livez");
  await clocks.ask([]);
  await clocks.ask([pod]);
  assert.equal(asked.length, 5, "another Pod may be at that address");
});
