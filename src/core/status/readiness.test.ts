/** What counts as work that is left, and when it stalls. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Decision, Hold } from "../action.ts";
import { decide } from "../decide.ts";
import type { Observation } from "../observation.ts";
import { NOW, change, edit, exited, healthy } from "../testing/cluster.ts";
import { IN_PLACE, of, silent, status, summary } from "../testing/status.ts";
import { aHold } from "../testing/hold.ts";
import { viewOf } from "../view.ts";
import { quorate } from "./conditions.ts";
import { mainHold, progressOf, workOf } from "./readiness.ts";

const three = healthy();
const wait = (reason: Hold["reason"], classes: Hold["classes"], next?: string): Hold =>
  aHold({ reason, classes, message: reason, next });

test("of several waits the first for a person explains most, then one that keeps everything, then the first", () => {
  const note = wait("ForeignMember", [], "Remove it.");
  const first = wait("Stopping", ["join"]);
  const all = wait("Waking", "all");
  const person = wait("NoSpace", ["join"], "Delete keys.");
  const other = wait("Paused", "all", "Go on.");
  assert.equal(mainHold([note, first, all, person, other])?.reason, "NoSpace");
  assert.equal(mainHold([first, all, wait("QuorumLost", "all")])?.reason, "Waking");
  assert.equal(mainHold([note, first, wait("Booting", ["join"])])?.reason, "Stopping");
  assert.equal(mainHold([note]), undefined);
});

test("progress counts whole seconds up to its deadline, and tells why the last try failed", () => {
  const view = viewOf(three);
  const deadline = view.spec.progressDeadlineSeconds * 1000;
  const decision: Decision = { holds: [wait("Stopping", ["join"])], heldBack: [], converged: false };
  const reason = (since: number) =>
    progressOf(view, workOf(decision, []), since, quorate(view)).Reconciling.reason;
  assert.equal(reason(NOW - deadline + 1), "Stopping");
  assert.equal(reason(NOW - deadline), "ProgressDeadlineExceeded");
  const rolling = decide(edit(three, { options: { logLevel: "Debug" } }));
  assert.equal(workOf(rolling, [])?.message, "demo-3: new options");
  assert.equal(workOf(rolling, [], "no")?.message, "demo-3: new options (the last try failed: no)");
});

test("maintenance is no work on the spec, until it fails", () => {
  const act = {
    rule: "defragment",
    class: "maintain",
    code: "Defragmented",
    params: {},
    message: "free pages",
  } as const;
  const decision: Decision = {
    act: { ...act, action: { kind: "Defragment", member: "demo-1" } },
    holds: [],
    heldBack: [],
    converged: false,
  };
  assert.equal(workOf(decision, []), undefined);
  assert.equal(workOf(decision, [], "no answer")?.reason, "Maintaining");
  assert.equal(workOf(decision, ["a Service is contested"])?.reason, "PlatformProblem");
});

test("a field that another controller keeps changing back keeps the cluster from being Ready", () => {
  const contested = "Service demo-client: spec.type is set back by another controller";
  const given = { ...IN_PLACE, problems: [contested] };
  const reported = status(healthy(), undefined, given);
  assert.deepEqual(
    [reported.phase, summary(reported)["Ready"], summary(reported)["Reconciling"]],
    ["Degraded", "False PlatformProblem", "True PlatformProblem"],
  );
  assert.match(reported.message ?? "", /spec\.type is set back/);
  const later = { ...healthy(), now: NOW + 600_000 };
  const late = status(later, reported, given);
  assert.equal(summary(late)["Stalled"], "True ProgressDeadlineExceeded");
  assert.equal(late.phase, "Stalled");
});

test("a member of etcd's list that is not ours needs a person, however well the cluster is", () => {
  const o = healthy();
  const list = o.etcd.list ?? assert.fail("no list");
  const stranger = { id: "f00", name: "stranger", peerURLs: ["http://x:2380"], isLearner: true };
  const reported = status({
    ...o,
    etcd: {
      ...o.etcd,
      list: { ...list, members: [...list.members, { ...stranger, clientURLs: [], ours: false }] },
    },
  });
  assert.deepEqual(
    [
      reported.phase,
      summary(reported)["Ready"],
      summary(reported)["Stalled"],
      summary(reported)["Available"],
    ],
    ["Stalled", "False ForeignMember", "True ForeignMember", "True Quorum"],
  );
});

test("nothing is Ready that cannot be seen", () => {
  const hidden = (o: Observation, name: string) =>
    change(o, name, ({ workload }) => ({
      answer: { reachable: false, error: "i/o timeout" },
      seenByPeers: true,
      ...(workload.state === "running" && { workload: { ...workload, ready: true } }),
    }));
  const one = status(hidden(healthy(), "demo-2"));
  assert.equal(of(one, "Ready").status, "Unknown", of(one, "Ready").message);
  const all = ["demo-1", "demo-2", "demo-3"].reduce(hidden, silent(healthy()));
  const reported = status(all);
  assert.deepEqual([reported.phase, summary(reported)["Ready"]], ["Unknown", "Unknown EtcdUnreachable"]);
  assert.equal(summary(reported)["Stalled"], "False EtcdUnreachable", "it may pass");
});

test("a Pod that is recreated after a wait is work that goes on, not a cluster that stalls", () => {
  const world = change(exited(healthy(), "demo-2"), "demo-2", ({ workload }) => ({
    ends: 3,
    ...(workload.state === "exited" && { workload: { ...workload, ended: true, since: NOW } }),
  }));
  const reported = status(world);
  assert.deepEqual(
    [summary(reported)["Reconciling"], summary(reported)["Stalled"]],
    ["True PodBackOff", "False PodBackOff"],
  );
});
