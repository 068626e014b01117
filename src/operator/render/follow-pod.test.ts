import assert from "node:assert/strict";
import { test } from "node:test";
import { scheduleNamed } from "../../core/testing/snapshots.ts";
import { followersFrom } from "../observe/follower-facts.ts";
import { followPod } from "./follow-pod.ts";
import { selectorOf } from "./metadata.ts";

const SCHEDULE = scheduleNamed("nightly", {
  uid: "0123456789-uid",
  spec: {
    destination: { s3: { bucket: "backups", prefix: "prod", credentialsSecret: "credentials" } },
    compression: "Zstd",
    encryption: { keySecret: "key" },
    incremental: { interval: "10s" },
  },
});
const WISHES = {
  namespace: "prod",
  image: "quorate:1",
  attempt: 1,
  recipe: "0123456789abcdef",
  endpoints: ["https://demo-1.demo-peers.prod.svc:2379"],
  secret: "demo-snapshot-tls",
};

test("the follower of a schedule runs the command that a person would, without a token and as nobody", () => {
  const pod = followPod(SCHEDULE, WISHES);
  const [container] = pod.spec?.containers ?? [];
  assert.equal(
    container?.args?.join(" "),
    [
      "snapshot follow --await-base --interval 10s --listen [::]:2381 --result-file /dev/termination-log",
      "--compress --encrypt --endpoints https://demo-1.demo-peers.prod.svc:2379",
      "--cacert /etc/quorate/etcd/ca.crt --cert /etc/quorate/etcd/tls.crt --key /etc/quorate/etcd/tls.key",
      "--encryption-key-file /etc/quorate/encryption/key s3://backups/prod/",
    ].join(" "),
  );
  assert.equal(pod.metadata?.name, "nightly-01234567-follow");
  assert.deepEqual(
    [pod.spec?.automountServiceAccountToken, pod.spec?.serviceAccountName, pod.spec?.restartPolicy],
    [false, "quorate-snapshot", "Always"],
  );
  assert.equal(pod.spec?.securityContext?.runAsNonRoot, true);
  assert.equal(container?.securityContext?.readOnlyRootFilesystem, true);
  assert.equal(pod.metadata?.ownerReferences?.[0]?.uid, SCHEDULE.uid);
  const labels = pod.metadata?.labels ?? {};
  for (const role of ["all", "voter", "learner"] as const) {
    const selector = selectorOf({ name: "demo", namespace: "prod", uid: "u" }, role);
    assert.ok(
      Object.entries(selector).some(([key, value]) => labels[key] !== value),
      `${role} would select it`,
    );
  }
});

test("what is known of it: its recipe, what it told, how it ended, and that it is being stopped", () => {
  const pod = followPod(SCHEDULE, WISHES);
  const seen = (status: object, metadata: object = {}) =>
    followersFrom(
      [{ ...pod, metadata: { ...pod.metadata, uid: "u", ...metadata }, status }],
      SCHEDULE.uid,
      Date.parse("2026-11-17T10:00:10Z"),
      () => ({ state: "following", revision: 7 }),
    )[0];
  const startedAt = "2026-11-17T10:00:00Z";
  const running = seen({
    phase: "Running",
    containerStatuses: [{ name: "follow", state: { running: { startedAt } } }],
  });
  assert.deepEqual(running, {
    name: "nightly-01234567-follow",
    uid: "u",
    recipe: WISHES.recipe,
    attempt: 1,
    state: { is: "running", report: { state: "following", revision: 7 }, forMs: 10_000 },
  });
  const terminated = { exitCode: 4, message: '{"ok":false,"reason":"StoreDenied","message":"no"}' };
  const failed = seen({
    phase: "Running",
    containerStatuses: [
      { name: "follow", state: { waiting: { reason: "CrashLoopBackOff" } }, lastState: { terminated } },
    ],
  });
  assert.deepEqual(failed?.state, {
    is: "waiting",
    why: "Pod nightly-01234567-follow ended and is started again: no",
  });
  assert.equal(seen({ phase: "Failed", reason: "Evicted" })?.state.is, "ended");
  assert.equal(seen({}, { deletionTimestamp: "2026-11-17T10:00:00Z" })?.stoppingMs, 10_000);
  assert.deepEqual(
    followersFrom([pod], "another", 0, () => undefined),
    [],
  );
});
