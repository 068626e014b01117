import assert from "node:assert/strict";
import { test } from "node:test";
import { errorCode } from "./error-code.ts";

class Rejected extends Error {
  override name = "Rejected";
  readonly reason: string;
  readonly causes: readonly { field: string; reason: string }[];

  constructor(reason: string, message: string, field?: string) {
    super(message);
    this.reason = reason;
    this.causes = field === undefined ? [] : [{ field, reason: "FieldValueInvalid" }];
  }
}

test("errors with other words are the same where class, reason, field and cause are", () => {
  assert.equal(
    errorCode(new Rejected("Invalid", "at 12:00")),
    errorCode(new Rejected("Invalid", "at 12:01")),
  );
  assert.notEqual(errorCode(new Rejected("Invalid", "no")), errorCode(new Rejected("NotFound", "no")));
  const fields = ["spec.a", "spec.b"].map((field) => errorCode(new Rejected("Invalid", "no", field)));
  assert.notEqual(fields[0], fields[1]);
  const because = (reason: string) =>
    errorCode(new Error("it failed", { cause: new Rejected(reason, "no") }));
  assert.notEqual(because("Invalid"), because("NotFound"));
  assert.notEqual(errorCode(new TypeError("no")), errorCode(new Error("no")));
});

test("what is no error, or caused by itself, has a code too", () => {
  assert.equal(errorCode("no"), errorCode("yes"));
  const circle = new Error("no");
  circle.cause = circle;
  assert.match(errorCode(circle), /^Error because /);
});
