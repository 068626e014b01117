import assert from "node:assert/strict";
import { test } from "node:test";
import type { ContainerStatus } from "kubernetes-types/core/v1.d.ts";
import { meaningOf } from "../../core/assess/exit-causes.ts";
import { RestoreError } from "../../snapshot/restore-error.ts";
import { writeFailure } from "../../snapshot/stage.ts";
import { RESTORE_CONTAINERS } from "../names.ts";
import { restoreFacts } from "./restore-facts.ts";

const pod = { metadata: { creationTimestamp: "2026-01-01T00:00:00Z" } };
const status = (name: string, more: Partial<ContainerStatus>): ContainerStatus => ({
  name,
  image: "x",
  imageID: "x",
  ready: false,
  restartCount: 2,
  ...more,
});
const { stage, etcdutl, place } = RESTORE_CONTAINERS;

test("a container that works is a restore on its way", () => {
  const facts = restoreFacts(pod, status(etcdutl, { state: { running: {} } }), "a");
  assert.deepEqual(facts?.state === "waiting" && [facts.restoring, facts.reason], [
    true,
    "etcdutl restores it",
  ]);
});

test("one that failed says what is at fault, also while it is tried again", () => {
  const message = writeFailure(new RestoreError("checksum", "another SHA-256"));
  const terminated = { exitCode: 1, message, finishedAt: "2026-01-01T00:00:05Z" };
  const waiting = { reason: "CrashLoopBackOff" };
  for (const state of [{ terminated }, { waiting }, { running: {} }]) {
    const facts = restoreFacts(pod, status(stage, { state, lastState: { terminated } }), "a");
    assert.deepEqual(facts?.state === "exited" && [facts.cause, facts.restore, facts.detail], [
      "restore-failed",
      "checksum",
      "another SHA-256",
    ]);
  }
});

test("etcdutl cannot be started again over what it left: its Pod has ended, that of the others has not", () => {
  const terminated = { exitCode: 137, reason: "OOMKilled" };
  for (const state of [{ terminated }, { waiting: { reason: "CrashLoopBackOff" } }, { running: {} }]) {
    const ends = [stage, etcdutl, place].map((name) => {
      const facts = restoreFacts(pod, status(name, { state, lastState: { terminated } }), "a");
      return facts?.state === "exited" && facts.ended === true;
    });
    assert.deepEqual(ends, [false, true, false]);
  }
  const again = { exitCode: 1, finishedAt: "2026-01-01T00:10:00Z" };
  const facts = restoreFacts(pod, status(etcdutl, { state: { terminated: again } }), "a");
  const since = facts?.state === "exited" && facts.since;
  assert.equal(since, Date.parse("2026-01-01T00:00:00Z"), "restarts by the kubelet do not delay another Pod");
  assert.equal(meaningOf("restore-failed").data, "kept", "so that the Pod is recreated");
});

test("words that are no answer of ours are shown as they are", () => {
  const terminated = { exitCode: 1, message: "Error: snapshot file doesn't exist\n" };
  const facts = restoreFacts(pod, status(etcdutl, { state: { terminated } }), "a");
  assert.deepEqual(facts?.state === "exited" && [facts.restore, facts.detail], [
    "failed",
    "restore-snapshot failed: Error: snapshot file doesn't exist",
  ]);
});

test("an image that cannot be pulled, and containers of others, are looked at as ever", () => {
  const waiting = { reason: "ImagePullBackOff" };
  assert.equal(restoreFacts(pod, status(stage, { state: { waiting } }), "a"), undefined);
  assert.equal(restoreFacts(pod, status("istio-init", { state: { running: {} } }), "a"), undefined);
});
