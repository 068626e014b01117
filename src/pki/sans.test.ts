import assert from "node:assert/strict";
import { test } from "node:test";
import { memberSans, parseSan, sameSans } from "./sans.ts";

test("a name has one spelling", () => {
  const spelled: [string, string][] = [
    ["Example.COM.", "dns:example.com"],
    ["*.C.ns.svc", "dns:*.c.ns.svc"],
    ["localhost", "dns:localhost"],
    ["my_host.lan", "dns:my_host.lan"],
    ["127.0.0.1", "ip:127.0.0.1"],
    ["0:0:0:0:0:0:0:1", "ip:::1"],
    ["[FE80::1:2]", "ip:fe80::1:2"],
    ["::ffff:10.0.0.1", "ip:10.0.0.1"],
    ["::FFFF:A00:1", "ip:10.0.0.1"],
  ];
  for (const [text, expected] of spelled) {
    const san = parseSan(text);
    assert.equal(san.kind === "invalid" ? san.reason : `${san.kind}:${san.value}`, expected, text);
  }
});

test("what cannot go into a certificate is refused with the reason", () => {
  const bad = [
    "",
    "*",
    "a.*.b",
    "*a.b",
    "-a.b",
    "a..b",
    "a b",
    "https://a",
    "a:2379",
    "999.1.1.1",
    "10.0.0",
    "fe80::1%eth0",
  ];
  for (const text of [...bad, `${"a".repeat(64)}.b`, `${"a.".repeat(127)}abc`]) {
    assert.equal(parseSan(text).kind, "invalid", text);
  }
});

test("R46: a peer under a headless Service carries both the wildcard and the plain name of every domain", () => {
  const { sans, refused } = memberSans({
    hosts: ["c-0.c.ns.svc"],
    domains: ["c.ns.svc", "c.ns.svc.cluster.local"],
  });
  assert.deepEqual(refused, []);
  assert.deepEqual(sans, {
    dns: ["*.c.ns.svc", "*.c.ns.svc.cluster.local", "c-0.c.ns.svc", "c.ns.svc", "c.ns.svc.cluster.local"],
    ips: [],
  });
});

test("a bad extra name is told by its field and leaves the other names in place", () => {
  const { sans, refused } = memberSans({
    hosts: ["127.0.0.1", "::1", "localhost"],
    extra: ["db.example.com", "db:2379"],
  });
  assert.deepEqual(sans, { dns: ["db.example.com", "localhost"], ips: ["127.0.0.1", "::1"] });
  assert.deepEqual(
    refused.map(({ field, value }) => ({ field, value })),
    [{ field: "extra[1]", value: "db:2379" }],
  );
});

test("names are compared as sets, whatever their order and spelling", () => {
  const a = { dns: ["a.b", "c.d"], ips: ["::1"] };
  assert.ok(sameSans(a, { dns: ["C.D", "a.b", "a.b"], ips: ["0:0:0:0:0:0:0:1"] }));
  assert.ok(!sameSans(a, { dns: ["a.b"], ips: ["::1"] }));
  assert.ok(!sameSans(a, { dns: ["a.b", "c.d", "e.f"], ips: ["::1"] }));
});
