import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { compareVersions, formatVersion, minorNumber, minorOf, parseVersion, version } from "./version.ts";

const arbitraryVersion = fc.record({ major: fc.nat(9), minor: fc.nat(99), patch: fc.nat(999) });

test("a version survives being written and read", () => {
  fc.assert(fc.property(arbitraryVersion, (v) => compareVersions(version(formatVersion(v)), v) === 0));
});

test("order is by number, not by text", () => {
  assert.ok(compareVersions(version("3.5.9"), version("3.5.10")) < 0);
  assert.ok(minorNumber("3.10") > minorNumber("3.9"));
});

test("what is not a release is not a version", () => {
  for (const text of ["3.6", "3.6.0-rc.1", "latest", "", "3.6.x", "3.6.1.2"])
    assert.equal(parseVersion(text), undefined, text);
});

test("the minor is the same for a release, a storage version and a cluster version", () => {
  assert.deepEqual(["3.6.16", "3.6.0", "3.6", "v3.6.1"].map(minorOf), ["3.6", "3.6", "3.6", "3.6"]);
});

test("a version that did not come through validation is refused with an example", () => {
  assert.throws(() => version("3.6"), /such as 3\.6\.16/);
});
