import assert from "node:assert/strict";
import { test } from "node:test";
import { KubeFailure } from "../seams/kube-transport.ts";
import { errorFromFailure, errorFromResponse, isReason, type KubeReason } from "./errors.ts";
import { refusal } from "./testing.ts";

const cases: readonly [number, string, KubeReason][] = [
  [404, "NotFound", "NotFound"],
  [409, "AlreadyExists", "AlreadyExists"],
  [409, "Conflict", "Conflict"],
  [422, "Invalid", "Invalid"],
  [401, "Unauthorized", "Unauthorized"],
  [403, "Forbidden", "Forbidden"],
  [410, "Gone", "Expired"],
  [410, "Expired", "Expired"],
  [429, "TooManyRequests", "TooManyRequests"],
  [500, "ServerTimeout", "ServerTimeout"],
  [504, "Timeout", "ServerTimeout"],
  [503, "ServiceUnavailable", "Unavailable"],
  [413, "RequestEntityTooLarge", "TooLarge"],
  [405, "MethodNotAllowed", "MethodNotAllowed"],
  [500, "InternalError", "Internal"],
];

for (const [status, said, reason] of cases) {
  test(`${status} ${said} is ${reason}`, () => {
    const error = errorFromResponse("GET /x", refusal(status, said, "because"));
    assert.equal(error.reason, reason);
    assert.equal(error.status, status);
    assert.match(error.message, /^GET \/x: \d+ because; ./);
  });
}

test("an answer that is no Status, from a proxy perhaps, is read by its number", () => {
  const error = errorFromResponse("GET /x", { status: 502, body: "<html>bad gateway</html>" });
  assert.equal(error.reason, "Unavailable");
  assert.match(error.message, /bad gateway/);
});

test("the causes of an Invalid name their fields", () => {
  const causes = [{ field: "spec.replicas", reason: "FieldValueInvalid", message: "must be odd" }];
  const error = errorFromResponse("POST /x", refusal(422, "Invalid", "x is invalid", causes));
  assert.deepEqual(error.causes, causes);
});

test("Retry-After is taken from the header, and else from the Status", () => {
  const busy = refusal(429, "TooManyRequests", "busy");
  assert.equal(errorFromResponse("x", { ...busy, retryAfterMs: 3_000 }).retryAfterMs, 3_000);
  const body = { ...(busy.body as object), details: { retryAfterSeconds: 2 } };
  assert.equal(errorFromResponse("x", { ...busy, body }).retryAfterMs, 2_000);
});

test("a call without an answer says whether it may have happened", () => {
  const lost = errorFromFailure("POST /x", new KubeFailure("interrupted", "connection", "lost"));
  assert.ok(isReason(lost, "Interrupted") && lost.mayHaveHappened);
  const refused = errorFromFailure("POST /x", new KubeFailure("not-sent", "connection", "refused"));
  assert.ok(isReason(refused, "Unreachable") && !refused.mayHaveHappened);
  const ended = errorFromFailure("POST /x", new KubeFailure("interrupted", "cancelled", "ended"));
  assert.ok(isReason(ended, "Cancelled") && ended.mayHaveHappened);
  const full = errorFromFailure("POST /x", new KubeFailure("not-sent", "overloaded", "full"));
  assert.ok(isReason(full, "TooManyRequests"));
});

test("a version from the future is told apart from a server that is slow", () => {
  const causes = [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }];
  assert.equal(errorFromResponse("x", refusal(504, "Timeout", "too large", causes)).reason, "TooNew");
});

test("an apply for an object that is another by now is a Conflict, though the server calls it Invalid", () => {
  const causes = [{ field: "metadata.uid", reason: "FieldValueInvalid", message: "field is immutable" }];
  assert.equal(errorFromResponse("x", refusal(422, "Invalid", "x is invalid", causes)).reason, "Conflict");
});
