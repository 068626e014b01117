import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "kubernetes-types/core/v1.d.ts";
import { healthy } from "../../core/testing/cluster.ts";
import { EndsSeen } from "./ends-seen.ts";
import { workloadOf } from "./pod-facts.ts";

const NOW = Date.UTC(2030, 0, 1);
/** As etcd ends that finds neither data nor its peers. */
const message = JSON.stringify({
  level: "error",
  msg: "bootstrap failed",
  error: "cannot fetch cluster info from peer urls",
});

function podThat(endedAt: number, { restarts = 1, run = 1 } = {}): Pod {
  const terminated = {
    exitCode: 1,
    message,
    finishedAt: new Date(endedAt).toISOString(),
    containerID: `containerd://run-${run}`,
  };
  const image = { image: "etcd", imageID: "", ready: false };
  const etcd = { name: "etcd", ...image, restartCount: restarts, state: { terminated } };
  return {
    metadata: { name: "demo-1", uid: "pod-1" },
    spec: { nodeName: "n1", containers: [] },
    status: { phase: "Running", containerStatuses: [etcd] },
  };
}

/** One look after the other by an operator that may not read Nodes, so that it knows nothing of their clocks. */
function looks() {
  const time = { at: 5_000 };
  const ends = new EndsSeen({ monotonic: () => time.at });
  const [first] = healthy().members;
  assert.ok(first);
  const look = (pod: Pod, joined = true) => {
    const record = { ...first.record, joined };
    const facts = workloadOf(pod, { record, now: NOW, endSeen: (...end) => ends.see(...end) });
    assert.ok(facts.state === "exited");
    return facts.cause;
  };
  return { time, ends, look };
}

for (const aheadMs of [-600_000, 0, 600_000])
  test(`by a node clock ${aheadMs / 1000} s ahead, the end of a newcomer's first run is not taken for lost data`, () => {
    const { time, look } = looks();
    const pod = podThat(NOW + aheadMs);
    assert.equal(look(pod), "unknown", "its next run may have joined by the time that this one is reported");
    time.at += 2_900;
    assert.equal(look(pod), "unknown");
    time.at += 200;
    assert.equal(look(pod), "data-missing", "that late it would have been told of the next run");
    time.at -= 200;
    assert.equal(look(podThat(NOW + aheadMs, { run: 2 })), "unknown", "another end begins anew");
  });

test("an end that was seen before the member joined never counts against what it holds since", () => {
  const { time, look } = looks();
  const pod = podThat(NOW, { restarts: 7 });
  assert.equal(look(pod, false), "unknown");
  time.at += 3_600_000;
  assert.equal(look(pod), "unknown");
  assert.equal(look(podThat(NOW, { restarts: 8, run: 2 })), "data-missing");
});

test("who ends that way again and again after it joined is not early", () => {
  const { look } = looks();
  assert.equal(look(podThat(NOW, { restarts: 3 })), "data-missing");
});

test("Pods that are gone are forgotten", () => {
  const { time, ends, look } = looks();
  const pod = podThat(NOW);
  look(pod);
  time.at += 60_000;
  assert.equal(look(pod), "data-missing");
  ends.keepOnly(new Set());
  assert.equal(look(pod), "unknown");
});
