import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "kubernetes-types/core/v1.d.ts";
import { healthy } from "../../core/testing/cluster.ts";
import { viewOf } from "../../core/view.ts";
import { ANNOTATIONS, LABELS } from "../names.ts";
import { withGiven } from "../render/given.ts";
import { podMetadataPatch, podRole } from "./pod-metadata.ts";

const pod = (labels: Record<string, string>, annotations: Record<string, string> = {}): Pod => ({
  metadata: { labels, annotations: { [ANNOTATIONS.startedFrom]: "abc", ...annotations } },
});
const nothing = { labels: {}, annotations: {} };

test("a Pod as wanted is left alone, whatever others put on it, and whatever it was started from", () => {
  const have = pod({ team: "theirs", [LABELS.role]: "voter" });
  const want = pod({ [LABELS.role]: "voter" }, { [ANNOTATIONS.startedFrom]: "def" });
  assert.equal(podMetadataPatch(have, want, nothing, true), undefined);
});

test("a promotion changes the role", () => {
  const patch = podMetadataPatch(
    pod({ [LABELS.role]: "learner" }),
    pod({ [LABELS.role]: "voter" }),
    nothing,
    true,
  );
  assert.deepEqual(patch, { metadata: { labels: { [LABELS.role]: "voter" } } });
});

test("what the spec gave and does not give any more is taken away, and nothing else", () => {
  const given = { labels: { team: "a" }, annotations: { note: "x" } };
  const have = withGiven(pod({ team: "a", theirs: "1" }, { note: "x" }), given);
  assert.equal(
    podMetadataPatch(have, withGiven(pod({ team: "a" }, { note: "x" }), given), given, true),
    undefined,
  );
  assert.deepEqual(podMetadataPatch(have, pod({}), nothing, true), {
    metadata: { labels: { team: null }, annotations: { note: null, [ANNOTATIONS.given]: null } },
  });
});

test("of a spec that cannot be understood nothing is taken away, and what was given is not forgotten", () => {
  const have = withGiven(pod({ team: "a" }), { labels: { team: "a" }, annotations: {} });
  const want = pod({ [LABELS.role]: "voter" });
  assert.deepEqual(podMetadataPatch(have, want, nothing, false), {
    metadata: { labels: { [LABELS.role]: "voter" }, annotations: {} },
  });
  assert.equal(podMetadataPatch(have, pod({}), nothing, false), undefined);
});

test("keys that every JavaScript object has are keys like any other", () => {
  const given = { labels: { constructor: "a" }, annotations: { toString: "x" } };
  const have = withGiven(pod(given.labels, given.annotations), given);
  assert.deepEqual(podMetadataPatch(have, pod({}), nothing, true), {
    metadata: { labels: { constructor: null }, annotations: { toString: null, [ANNOTATIONS.given]: null } },
  });
});

test("who founded the cluster votes; the etcd list decides as soon as it is known", () => {
  const view = viewOf(healthy());
  const [member] = view.members;
  assert.ok(member?.entry);
  assert.equal(podRole(view, member, undefined), "voter");
  const learner = { ...member, entry: { ...member.entry, isLearner: true } };
  assert.equal(podRole(view, learner, pod({ [LABELS.role]: "voter" })), "learner");
  const { entry: _, ...unlisted } = member;
  const joining = { ...unlisted, record: { ...member.record, boot: "Join" as const, joined: false } };
  assert.equal(podRole(view, joining, undefined), "learner");
});

test("a fenced member has a role that no client Service selects, and keeps its vote while etcd does not answer", () => {
  const view = viewOf(healthy());
  const [member] = view.members;
  assert.ok(member?.entry);
  const fenced = { ...member, fenced: true };
  assert.equal(podRole(view, fenced, pod({ [LABELS.role]: "voter" })), "fenced-voter");
  const learner = { ...fenced, entry: { ...member.entry, isLearner: true } };
  assert.equal(podRole(view, learner, undefined), "fenced-learner");
  const { entry: _, ...unlisted } = member;
  const joined = { ...unlisted, record: { ...member.record, boot: "Join" as const } };
  assert.equal(podRole(view, joined, pod({ [LABELS.role]: "fenced-voter" })), "voter", "unfenced meanwhile");
  assert.equal(
    podRole(view, { ...joined, fenced: true }, pod({ [LABELS.role]: "learner" })),
    "fenced-learner",
  );
});
