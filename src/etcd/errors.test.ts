import assert from "node:assert/strict";
import { test } from "node:test";
import { RpcFailure } from "../seams/etcd-transport.ts";
import { byCode, meanings, rows, type EtcdErrorKind } from "./error-table.ts";
import { isEtcdError, kindOf, readStatus, toEtcdError } from "./errors.ts";

const answered = (code: RpcFailure["code"], message: string) =>
  toEtcdError(new RpcFailure(code, message, "answered"), "Cluster.MemberAdd", "m1");

test("every message of the table is recognised under every code it was seen with", () => {
  for (const row of rows)
    for (const code of row.codes) {
      const error = answered(code, `etcdserver: ${row.message}`);
      assert.equal(error.kind, row.kind, row.message);
      assert.equal(error.said, row.message);
    }
});

test("no message stands twice in the table", () => {
  assert.equal(new Set(rows.map((row) => row.message)).size, rows.length);
});

test("a message under a foreign code does not decide: the code does", () => {
  assert.equal(kindOf("PERMISSION_DENIED", "member not found"), "permission-denied");
  assert.equal(kindOf("UNAVAILABLE", "something new"), "unavailable");
});

test("a failure that lost its code on the way between members is known by its words", () => {
  assert.equal(
    kindOf("UNKNOWN", "can only promote a learner member which is in sync with leader"),
    "learner-not-ready",
  );
  assert.equal(kindOf("UNKNOWN", "context deadline exceeded"), "deadline");
});

test("what the Maintenance service of 3.5 refuses is known, though it comes without a code and with another prefix", () => {
  assert.equal(answered("UNKNOWN", "auth: invalid auth token").kind, "auth-invalid-token");
  assert.equal(answered("UNKNOWN", "auth: user name is empty").kind, "auth-user-required");
  const denied = answered("UNKNOWN", "auth: permission denied");
  assert.deepEqual([denied.kind, denied.outcome], ["permission-denied", "not-applied"]);
});

test("every kind can be reached and says what to do next", () => {
  const made: EtcdErrorKind[] = ["untrusted-server", "client-certificate-refused", "snapshot-damaged"];
  const reachable = new Set<EtcdErrorKind>([
    ...rows.map((row) => row.kind),
    ...Object.values(byCode),
    ...made,
  ]);
  assert.deepEqual(
    Object.keys(meanings).filter((kind) => !reachable.has(kind as EtcdErrorKind)),
    [],
  );
  for (const { next } of Object.values(meanings)) assert.ok(next.length > 5);
});

test("an error names the call, the endpoint, etcd's words and the next step", () => {
  const error = answered("UNAVAILABLE", "etcdserver: unhealthy cluster");
  assert.match(
    error.message,
    /^Cluster\.MemberAdd on m1: unhealthy cluster \(unhealthy-cluster\); all voters must/,
  );
  assert.equal(error.retryable, true);
  assert.ok(isEtcdError(error, "unhealthy-cluster") && !isEtcdError(error, "deadline"));
});

test("what was not sent or was refused has no effect; what was interrupted may have one", () => {
  const outcome = (code: RpcFailure["code"], message: string, progress: RpcFailure["progress"]) =>
    toEtcdError(new RpcFailure(code, message, progress), "KV.Put", "m1").outcome;
  assert.equal(outcome("UNAVAILABLE", "ECONNREFUSED", "not-sent"), "not-applied");
  assert.equal(outcome("UNAVAILABLE", "ECONNRESET", "interrupted"), "unknown");
  assert.equal(
    outcome("FAILED_PRECONDITION", "etcdserver: Peer URLs already exists", "answered"),
    "not-applied",
  );
  // The server's own time-out, and a write over quota, may have got through (R27).
  assert.equal(outcome("UNAVAILABLE", "etcdserver: request timed out", "answered"), "unknown");
  assert.equal(
    outcome("RESOURCE_EXHAUSTED", "etcdserver: mvcc: database space exceeded", "answered"),
    "unknown",
  );
});

test("a failed handshake says whose certificate was at fault", () => {
  const fault = new RpcFailure("UNAVAILABLE", "self-signed certificate", "not-sent", {
    tls: "untrusted-server",
  });
  const error = toEtcdError(fault, "Maintenance.Status", "m1");
  assert.deepEqual([error.kind, error.retryable, error.outcome], ["untrusted-server", false, "not-applied"]);
});

test("a status that etcd put into a text is read back", () => {
  const wrapped = "rpc error: code = PermissionDenied desc = etcdserver: permission denied";
  assert.deepEqual(readStatus(wrapped), { code: "PERMISSION_DENIED", said: "permission denied" });
  assert.deepEqual(readStatus("etcdserver: no leader"), { code: "UNKNOWN", said: "no leader" });
  assert.equal(readStatus("rpc error: code = Canceled desc = x").code, "CANCELLED");
});
