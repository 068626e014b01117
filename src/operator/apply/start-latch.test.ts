import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "kubernetes-types/core/v1.d.ts";
import { KubeError } from "../../kube/errors.ts";
import { Contested, type Contests } from "./contests.ts";
import { ANNOTATIONS } from "../names.ts";
import { lacksTouch, StartLatches, SYNCS_WITHIN_MS, touch, WRITES_WITHIN_MS } from "./start-latch.ts";

const THEIRS = { key: "theirs", operator: "Exists" };
const OURS = { key: ANNOTATIONS.latched, operator: "Exists" };

const FREELY: Contests["write"] = async (_resource, _known, _wanted, write) => await write();
const FREE = { contests: { write: FREELY }, latches: { refused: assert.fail } };

interface Seen {
  touched?: boolean;
  generation?: number;
  observed?: number;
  tolerated?: boolean;
}

function pod(startedFrom: string, seen: Seen = {}): Pod {
  const { touched = false, generation = 1, observed = 1, tolerated = touched } = seen;
  return {
    metadata: {
      name: "demo-1",
      namespace: "default",
      uid: "u",
      generation,
      annotations: {
        [ANNOTATIONS.startedFrom]: startedFrom,
        ...(touched && { [ANNOTATIONS.latched]: "true" }),
      },
    },
    spec: { containers: [], tolerations: tolerated ? [THEIRS, OURS] : [THEIRS] },
    status: { observedGeneration: observed } as Pod["status"] & object,
  };
}

function clock() {
  const time = { at: 1_000, monotonic: () => time.at, now: () => 7_000_000 + time.at };
  return time;
}

test("a Pod is touched once, when its member has joined from it", () => {
  assert.equal(lacksTouch(pod("a.b/peers"), { joined: false }), false);
  assert.equal(lacksTouch(pod("a.b/peers"), { joined: true }), true);
  assert.equal(lacksTouch(pod("a.b/peers", { touched: true }), { joined: true }), false);
  // One half of it was taken off again: that is no reason for a second toleration.
  const stripped = pod("a.b/peers", { touched: false, tolerated: true });
  assert.equal(lacksTouch(stripped, { joined: true }), false);
  // Made since: it mounted the file as it is.
  assert.equal(lacksTouch(pod("a.b"), { joined: true }), false);
});

test("a touch changes the spec, so that the kubelet reports it, and keeps what was tolerated", async () => {
  const patches: object[] = [];
  const client = { patch: (...args: unknown[]) => Promise.resolve(void patches.push(args[2] as object)) };
  await touch({ ...FREE, client: client as never }, pod("a.b/peers"));
  assert.deepEqual(patches, [
    {
      metadata: { annotations: { [ANNOTATIONS.latched]: "true" } },
      spec: { tolerations: [THEIRS, OURS] },
    },
  ]);
});

test("where tolerations are restricted the touch is a note alone", async () => {
  const patches: object[] = [];
  const patch = (...args: unknown[]) => {
    patches.push(args[2] as object);
    return patches.length === 1 ? Promise.reject(forbidden()) : Promise.resolve();
  };
  await touch({ ...FREE, client: { patch } as never }, pod("a.b/peers"));
  assert.deepEqual(patches.at(-1), { metadata: { annotations: { [ANNOTATIONS.latched]: "true" } } });
});

test("a touch that is contested waits", async () => {
  const contested = { write: () => Promise.reject(new Contested("not now")) };
  const context = { ...FREE, client: { patch: assert.fail } as never, contests: contested };
  await assert.rejects(touch(context, pod("a.b/peers")), Contested);
});

test("it is confirmed when the kubelet has seen the touch, and had the time to write", () => {
  const time = clock();
  const latches = new StartLatches(time);
  assert.equal(latches.isConfirmed(pod("a.b/peers")), false);
  assert.equal(latches.isConfirmed(pod("a.b/peers", { touched: true, generation: 2, observed: 1 })), false);
  time.at += 60_000;
  const seen = pod("a.b/peers", { touched: true, generation: 2, observed: 2 });
  assert.equal(latches.lookAgainAt, undefined);
  assert.equal(latches.isConfirmed(seen), false);
  assert.equal(latches.lookAgainAt, time.now() + WRITES_WITHIN_MS);
  time.at += WRITES_WITHIN_MS;
  assert.equal(latches.isConfirmed(seen), true);
  assert.equal(latches.lookAgainAt, undefined);
  // A later change of the spec, such as other resources, takes nothing back.
  assert.equal(latches.isConfirmed(pod("a.b/peers", { touched: true, generation: 3, observed: 2 })), true);
  // The next Pod of this name is another one.
  latches.keepOnly(new Set());
  assert.equal(latches.isConfirmed(seen), false);
});

test("the certificate that came with the file is proof at once, whatever the kubelet reports", () => {
  const time = clock();
  const latches = new StartLatches(time);
  const one = pod("a.b/peers", { touched: true, generation: 2, observed: 1 });
  assert.equal(latches.judge(one, undefined, ["new"]), false);
  assert.equal(latches.judge(one, "old", ["new"]), false);
  assert.equal(latches.isConfirmed(one), false);
  const soon = latches.lookAgainAt ?? 0;
  assert.ok(soon > time.now() && soon < time.now() + 100, "nothing else tells when the files are replaced");
  assert.equal(latches.judge(one, "renewed", ["new", "renewed"]), true);
  assert.equal(latches.isConfirmed(one), true);
  assert.equal(latches.lookAgainAt, undefined);
  latches.keepOnly(new Set());
  assert.equal(latches.isConfirmed(one), false, "another Pod of this name");
});

test("another certificate is proof of the contrary, whatever the kubelet reports and however long it lasts", () => {
  const { unmarked, silent } = weakReports();
  const reported = pod("a.b/peers", { touched: true, generation: 2, observed: 2 });
  for (const one of [reported, unmarked, silent]) {
    const time = clock();
    const latches = new StartLatches(time);
    assert.equal(latches.isConfirmed(one), false);
    assert.equal(latches.judge(one, "old", ["new"]), false);
    for (const ms of [WRITES_WITHIN_MS, SYNCS_WITHIN_MS, 10 * SYNCS_WITHIN_MS]) {
      time.at += ms;
      assert.equal(latches.isConfirmed(one), false, "a kubelet may be cut off from the API server");
    }
    latches.judge(one, undefined, ["new"]);
    assert.equal(latches.isConfirmed(one), false, "no answer takes nothing back");
    assert.equal(latches.judge(one, "new", ["new"]), true);
    assert.equal(latches.isConfirmed(one), true);
  }
});

test("another certificate outweighs the time of a kubelet's own sync also where every touch is refused", () => {
  const time = clock();
  const latches = new StartLatches(time);
  const one = pod("a.b/peers");
  latches.refused("u");
  latches.judge(one, "old", ["new"]);
  time.at += 10 * SYNCS_WITHIN_MS;
  assert.equal(latches.isConfirmed(one), false);
  latches.judge(one, "new", ["new"]);
  assert.equal(latches.isConfirmed(one), true);
});

test("another certificate confirms nothing by time alone, while the kubelet has not reported the change", () => {
  const time = clock();
  const latches = new StartLatches(time);
  const one = pod("a.b/peers", { touched: true, generation: 2, observed: 1 });
  assert.equal(latches.judge(one, "old", ["new"]), false);
  time.at += SYNCS_WITHIN_MS;
  assert.equal(latches.isConfirmed(one), false, "its sync may hang");
});

test("a kubelet that is cut off is not asked about for ever that often", () => {
  const time = clock();
  const latches = new StartLatches(time);
  latches.judge(pod("a.b/peers"), "old", ["new"]);
  time.at += 60_000;
  latches.judge(pod("a.b/peers"), "old", ["new"]);
  assert.equal(latches.lookAgainAt, undefined);
});

test("where every touch is refused, the time of a kubelet's own sync has to do, and the refusal is reported", async () => {
  const time = clock();
  const latches = new StartLatches(time);
  const client = { patch: () => Promise.reject(forbidden()) } as never;
  const refused = () => touch({ ...FREE, client, latches }, pod("a.b/peers"));
  await assert.rejects(refused(), KubeError);
  assert.equal(latches.isConfirmed(pod("a.b/peers")), false);
  time.at += SYNCS_WITHIN_MS - 1;
  await assert.rejects(refused(), KubeError);
  assert.equal(latches.isConfirmed(pod("a.b/peers")), false);
  time.at += 1;
  assert.equal(latches.isConfirmed(pod("a.b/peers")), true);
});

test("a Pod that was made after its member joined needs no confirmation", () => {
  assert.equal(new StartLatches(clock()).isConfirmed(pod("a.b")), true);
});

test("a kubelet that reports no generation, and a touch without a toleration, are given the time alone", () => {
  for (const one of Object.values(weakReports())) {
    const time = clock();
    const latches = new StartLatches(time);
    assert.equal(latches.isConfirmed(one), false);
    time.at += WRITES_WITHIN_MS;
    assert.equal(latches.isConfirmed(one), true);
  }
});

/** Pods whose kubelet cannot tell that it has seen the touch: without our toleration, and older than 1.33. */
function weakReports(): { unmarked: Pod; silent: Pod } {
  return {
    unmarked: pod("a.b/peers", { touched: true, tolerated: false, generation: 2, observed: 1 }),
    silent: { ...pod("a.b/peers", { touched: true, generation: 2 }), status: {} },
  };
}

function forbidden(): Error {
  return new KubeError("Forbidden", "patching the Pod demo-1", "not allowed");
}
