/** What is asked about members that do not answer us, as the whole observer asks it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { MemberNode, WorkloadFacts } from "../core/observation.ts";
import { change, healthy, NOW, record } from "../core/testing/cluster.ts";
import { FakeTransport, ManualClock } from "../etcd/testing.ts";
import { RpcFailure } from "../seams/etcd-transport.ts";
import { Observer } from "./observe.ts";
import type { Platform } from "./platform.ts";

const SILENT: MemberNode = { name: "node-c", kubelet: "silent", since: NOW - 360_000 };
const STOPPING: WorkloadFacts = { state: "stopping", since: NOW - 60_000, overdue: true };

/** No member answers us by etcd's API; `alive` and `active` are what their metrics ports say. */
function world({
  workload = STOPPING,
  node = SILENT,
  leaving = false,
  alive = () => false,
  active = () => undefined,
}: {
  workload?: WorkloadFacts;
  node?: MemberNode;
  leaving?: boolean;
  alive?: (url: string) => boolean;
  active?: (url: string) => ReadonlySet<string> | undefined;
}) {
  const going = { reason: "it goes", volume: "Delete" as const };
  const before = change(healthy(), "demo-3", { workload, node });
  const now = leaving ? record(before, "demo-3", { leaving: going }) : before;
  const asked: string[] = [];
  const noted = <T>(path: string, url: string, answer: T) => {
    asked.push(`${new URL(url).hostname}${path}`);
    return Promise.resolve(answer);
  };
  const platform: Platform = {
    read: () => {
      const { cluster, members, platform: facts, operations } = now;
      return Promise.resolve({ cluster, members, platform: facts, operations });
    },
    apply: () => Promise.resolve({ changed: false, problems: [] }),
    execute: () => Promise.resolve(),
    describe: () => Promise.resolve({}),
    report: () => Promise.resolve(),
    endpoint: ({ name }) => ({ name, url: `http://${name}:2379` }),
    metricsURL: ({ name }) => `http://${name}:2381`,
    isOurs: () => true,
    transport: new FakeTransport(() => new RpcFailure("UNAVAILABLE", "connect ETIMEDOUT", "not-sent")),
    probe: {
      versions: () => Promise.reject(new Error("no answer")),
      alive: (url) => noted("/livez", url, alive(url)),
      ready: () => Promise.resolve(false),
      activePeers: (url) => noted("/metrics", url, active(url)),
      certificate: () => Promise.resolve(undefined),
      offer: () => Promise.resolve(undefined),
    },
  };
  const observer = new Observer(platform, new ManualClock());
  const id = now.members[2]?.record.memberID ?? "";
  return { asked, id, look: async () => (await observer.observe())?.members[2] };
}

const isOf = (name: string) => (url: string) => url.includes(name);

test("a member that is being stopped on a silent node is asked whether it lives, also one on its way out", async () => {
  for (const leaving of [false, true]) {
    assert.equal((await world({ leaving, alive: isOf("demo-3") }).look())?.alive, true, `${leaving}`);
    assert.equal((await world({ leaving }).look())?.alive, false, `${leaving}`);
  }
});

test("so is one whose Pod had ended, or had not started, when its node fell silent: a kubelet starts it again", async () => {
  const run = { since: 1, startedFrom: "x", restarts: 1 };
  const states: WorkloadFacts[] = [
    { state: "exited", ...run, cause: "killed", detail: "OOMKilled" },
    { state: "waiting", since: 1, reason: "CrashLoopBackOff" },
  ];
  for (const workload of states)
    assert.equal((await world({ workload, alive: isOf("demo-3") }).look())?.alive, true, workload.state);
});

test("its peers are asked about it although it is not ready: nobody there reports that any more", async () => {
  const running: WorkloadFacts = { state: "running", since: 1, startedFrom: "x", restarts: 0, ready: false };
  for (const workload of [STOPPING, running]) {
    const one = world({ workload, active: (url) => (isOf("demo-1")(url) ? new Set([one.id]) : new Set()) });
    assert.equal((await one.look())?.seenByPeers, true, workload.state);
    assert.equal((await world({ workload, active: () => new Set() }).look())?.seenByPeers, false);
  }
});

test("of a node that reports, one that is being stopped is left alone, and so is what does not run", async () => {
  const node: MemberNode = { name: "node-c", kubelet: "reports" };
  const absent: WorkloadFacts = { state: "absent" };
  for (const facts of [{ node }, { workload: absent }]) {
    const one = world(facts);
    await one.look();
    assert.deepEqual(
      one.asked.filter((what) => what === "demo-3/livez"),
      [],
    );
  }
});
