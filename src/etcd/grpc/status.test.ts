import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import type { ClientHttp2Stream } from "node:http2";
import { test } from "node:test";
import { decodeMessage, encodeTimeout, StatusReader } from "./status.ts";

test("a status message is percent-decoded as UTF-8, and a stray percent sign stands for itself", () => {
  assert.equal(decodeMessage("etcdserver: no leader"), "etcdserver: no leader");
  assert.equal(decodeMessage("100%25 f%C3%BCll"), "100% füll");
  assert.equal(decodeMessage("50% of %zz"), "50% of %zz");
});

test("a time-out has at most eight digits and is never zero", () => {
  assert.equal(encodeTimeout(1500), "1500m");
  assert.equal(encodeTimeout(0.2), "1m");
  assert.equal(encodeTimeout(-5), "1m");
  assert.equal(encodeTimeout(2e8), "200000S");
  assert.match(encodeTimeout(Number.MAX_SAFE_INTEGER), /^\d{1,8}S$/);
});

function read(...events: [name: "response" | "trailers", headers: object][]): StatusReader {
  const stream = new EventEmitter();
  const reader = new StatusReader(stream as unknown as ClientHttp2Stream);
  for (const [name, headers] of events) stream.emit(name, headers);
  return reader;
}

test("a call is fine only when its trailers say so", () => {
  assert.equal(read(["response", { ":status": 200 }]).ok, false);
  assert.equal(read(["response", { ":status": 200 }], ["trailers", { "grpc-status": "0" }]).ok, true);
});

test("a failure may come in trailers or alone in the headers", () => {
  const trailers = read(
    ["response", { ":status": 200 }],
    ["trailers", { "grpc-status": "14", "grpc-message": "x" }],
  );
  assert.deepEqual(
    [trailers.ok, trailers.failure?.code, trailers.failure?.message],
    [false, "UNAVAILABLE", "x"],
  );
  assert.equal(read(["response", { ":status": 200, "grpc-status": "12" }]).failure?.code, "UNIMPLEMENTED");
  assert.equal(read(["response", { ":status": 200, "grpc-status": "99" }]).failure?.code, "UNKNOWN");
});

test("an HTTP error of something that is not etcd is told as such", () => {
  const { failure } = read(["response", { ":status": 503 }]);
  assert.equal(failure?.code, "UNAVAILABLE");
  assert.match(failure.message, /HTTP status 503/);
});
