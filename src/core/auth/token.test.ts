import assert from "node:assert/strict";
import { test } from "node:test";
import type { AuthSpec } from "../../api/auth.ts";
import { recordOf } from "../testing/record.ts";
import { currentKey, neededKeys, sameTokens, signingKey, tokenFor, withoutKey } from "./token.ts";

const spec = (token?: AuthSpec["token"]) => ({ auth: { enabled: true, ...(token && { token }) } });
const JWT = { type: "JWT" } as const;

function recordWith(token?: object) {
  const record = recordOf("3.6.16", {});
  const template = { ...record.template, ...(token && { auth: { token: { ...JWT, ...token } } }) };
  return { ...record, template };
}

test("what etcd does by itself is no part of a template, so that saying it restarts nobody", () => {
  assert.equal(tokenFor({}), undefined);
  assert.equal(tokenFor(spec()), undefined);
  assert.equal(tokenFor(spec({ type: "Simple" })), undefined);
  assert.deepEqual(tokenFor(spec({ type: "Simple", ttl: "1h" })), { type: "Simple", ttl: "1h" });
  assert.deepEqual(tokenFor(spec({ ...JWT, keyLifetime: "720h" })), JWT, "its age restarts nobody either");
});

test("a record without a number is of the first key", () => {
  assert.equal(signingKey(recordWith().template), undefined);
  assert.equal(signingKey(recordWith({}).template), 1);
  assert.equal(signingKey(recordWith({ key: 3 }).template), 3);
});

test("a mark that got lost leads nobody back to an old key", () => {
  const tokenKey = { number: 2, since: 0 };
  assert.equal(currentKey({}, [recordWith({ key: 3 }), recordWith({})]), 3);
  assert.equal(currentKey({ tokenKey }, [recordWith({})]), 2);
  assert.equal(currentKey({}, []), 1);
});

test("the keys of all members are needed, and the one for the next", () => {
  const tokenKey = { number: 2, since: 0 };
  assert.deepEqual(neededKeys(spec(JWT), { tokenKey }, [recordWith({})]), [1, 2]);
  assert.deepEqual(neededKeys(spec(JWT), { tokenKey }, [recordWith({ key: 2 })]), [2]);
  assert.deepEqual(neededKeys(spec(), { tokenKey }, [recordWith({ key: 2 }), recordWith()]), [2]);
  assert.deepEqual(neededKeys(spec(), { tokenKey }, [recordWith()]), []);
});

test("tokens are the same by type, lifetime and key", () => {
  const [none, first, second] = [recordWith(), recordWith({}), recordWith({ key: 2 })];
  assert.ok(sameTokens(none.template, recordWith().template));
  assert.ok(!sameTokens(none.template, first.template));
  assert.ok(!sameTokens(first.template, second.template));
  assert.ok(sameTokens(first.template, withoutKey(second.template)));
  assert.ok(!sameTokens(first.template, recordWith({ ttl: "1h" }).template));
});
