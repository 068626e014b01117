/** A write that was lost with its leader is told from one that was dropped while the leader stayed. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { EtcdError, type EtcdErrorKind } from "../../src/etcd/errors.ts";
import { assertExplained, WriteLog } from "../support/failed-writes.ts";

const failure = (kind: EtcdErrorKind, said: string) =>
  new EtcdError({ kind, said, call: "KV.Put", endpoint: "demo-1", code: "UNAVAILABLE", outcome: "unknown" });
const timedOut = () => failure("request-timed-out", "request timed out");

test("what timed out while another leader was elected is lost with it, and dropped otherwise", () => {
  const log = new WriteLog();
  log.answered(2n, 1_000);
  log.failed(timedOut(), 1_500, 8_500);
  assert.deepEqual(
    [log.sorted.lost.length, log.sorted.dropped.length],
    [0, 1],
    "the first answer is no change",
  );
  log.answered(2n, 10_000);
  log.answered(3n, 20_000);
  log.answered(3n, 30_000);
  log.failed(timedOut(), 19_990, 26_990);
  log.failed(timedOut(), 21_900, 28_900);
  log.failed(timedOut(), 22_100, 29_100);
  assert.deepEqual(
    [log.sorted.lost.length, log.sorted.dropped.length, log.sorted.leadersAt],
    [2, 2, [20_000]],
  );
});

test("a restart explains what its member said, and nothing explains the rest", () => {
  const log = new WriteLog();
  log.failed(failure("server-stopped", "server stopped"), 0, 1);
  log.failed(failure("unknown", "raft proposal dropped"), 0, 1);
  assertExplained(log.sorted, 0, "");
  log.failed(failure("deadline", "no answer within 10000 ms"), 0, 1);
  assertExplained(log.sorted, 1, "");
  assert.throws(() => assertExplained(log.sorted, 0, ""), /no answer within 10000 ms/);
  log.failed(failure("permission-denied", "permission denied"), 0, 1);
  assert.equal(log.sorted.unexplained.length, 1);
  assert.throws(() => assertExplained(log.sorted, 1, ""), /permission denied/);
});
