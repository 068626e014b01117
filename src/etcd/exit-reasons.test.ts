import assert from "node:assert/strict";
import { test } from "node:test";
import { readExitReason } from "./exit-reasons.ts";

const line = (level: string, msg: string, error?: string) =>
  JSON.stringify({ level, msg, ...(error && { error }) });

test("the reason is the last grave line that is known, not the last line", () => {
  const found = readExitReason([
    line("info", "Running: "),
    line("fatal", "discovery failed", "member 8e9e has already been bootstrapped"),
    line("warn", "stopped insecure grpc server due to error", "use of closed network connection"),
    line("info", "closed etcd server"),
  ]);
  assert.deepEqual(found, {
    reason: "already-bootstrapped",
    said: "discovery failed: member 8e9e has already been bootstrapped",
  });
});

test("a member that was removed says so once, whatever it still hears from strangers", () => {
  const found = readExitReason([
    line("warn", "server error", "the member has been permanently removed from the cluster"),
    line("warn", "request sent was ignored by remote peer due to cluster ID mismatch", "cluster ID mismatch"),
    line("fatal", "listener failed", "server is stopping"),
  ]);
  assert.equal(found.reason, "permanently-removed");
});

test("information is never a reason, whatever words it holds", () => {
  assert.equal(readExitReason([line("info", "ignored: address already in use")]).reason, "unknown");
});

test("a panic is read by its words, and told as a panic when they are not known", () => {
  const known = [
    "panic: tocommit(12) is out of range [lastIndex(3)]. Was the raft log corrupted?",
    "",
    "goroutine 1 [running]:",
  ];
  assert.equal(readExitReason(known).reason, "data-lost");
  const unknown = [
    "panic: runtime error: index out of range [recovered]",
    "goroutine 7 [running]:",
    "main.main()",
  ];
  assert.deepEqual(readExitReason(unknown), { reason: "panic", said: unknown[0] });
});

test("a line cut in the middle and an empty log do not stop the reading", () => {
  assert.equal(readExitReason(['{"level":"fatal","msg":"no space left on device', ""]).reason, "disk-full");
  assert.deepEqual(readExitReason([]), { reason: "unknown", said: "" });
});

test("a message with a whole member list in it is shortened to its ends", () => {
  const found = readExitReason([
    line("fatal", "discovery failed", `${"x".repeat(5_000)}: member count is unequal`),
  ]);
  assert.equal(found.reason, "member-count-unequal");
  assert.ok(found.said.length < 310 && found.said.endsWith("member count is unequal"));
});

test("reasons that need a full disk, an old store or a split cluster are known by etcd's own words", () => {
  const reported: readonly [string, string][] = [
    ["v2-content", "detected disallowed custom content in v2store for stage --v2-deprecation=write-only"],
    ["v2-content", "detected disallowed v2 WAL for stage --v2-deprecation=write-only"],
    ["corrupt-at-start", "checkInitialHashKV failed: 8e9e found data inconsistency with peers"],
    ["member-unknown", "failed to update; member unknown"],
    ["permanently-removed", "failed to find local ID in cluster members"],
    ["disk-full", "failed to create WAL: write 0.tmp: no space left on device"],
    ["permission-denied", "cannot access data directory: open data/.touch: permission denied"],
    ["cluster-newer-version", "discovery failed: incompatible with current running cluster"],
  ];
  for (const [reason, words] of reported) assert.equal(readExitReason([line("panic", words)]).reason, reason);
});
