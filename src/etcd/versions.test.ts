import assert from "node:assert/strict";
import { test } from "node:test";
import { etcdPins, exactVersion, findPin, hasEtcdutl } from "./versions.ts";

test("a full version means itself, with or without a v", () => {
  assert.equal(exactVersion("3.6.16"), "3.6.16");
  assert.equal(exactVersion("v3.6.16"), "3.6.16");
  assert.equal(exactVersion("9.9.9"), "9.9.9");
});

test("a minor version means its newest pinned patch", () => {
  for (const pin of etcdPins.filter((one) => one.role === "newest")) {
    assert.equal(exactVersion(pin.version.replace(/\.\d+$/, "")), pin.version);
  }
});

test("what is not a version, or a minor that is not pinned, means nothing", () => {
  for (const text of ["", "latest", "3", "3.9", "3.6.16-rc.0", "3.6.x", "../3.6.16"]) {
    assert.equal(exactVersion(text), undefined, text);
  }
});

test("each supported minor has one newest and one older patch, and the newest is the higher", () => {
  for (const minor of ["3.5", "3.6", "3.7"]) {
    const patchOf = (role: string) =>
      etcdPins
        .filter((pin) => pin.role === role && pin.version.startsWith(`${minor}.`))
        .map((pin) => Number(pin.version.split(".")[2]));
    const [newest, older] = [patchOf("newest"), patchOf("older")];
    assert.deepEqual([newest.length, older.length], [1, 1], minor);
    assert.ok(newest[0]! > older[0]!, minor);
  }
});

test("older patches are above the floors for upgrades and security (R43)", () => {
  const floors: Record<string, number> = { "3.5": 33, "3.6": 14, "3.7": 1 };
  for (const pin of etcdPins.filter((one) => one.role === "older")) {
    const [, floor] = Object.entries(floors).find(([minor]) => pin.version.startsWith(`${minor}.`)) ?? [];
    assert.ok(floor !== undefined && Number(pin.version.split(".")[2]) >= floor, pin.version);
  }
});

test("a version from Debian says which suite has it, and no version is pinned twice", () => {
  for (const pin of etcdPins) assert.equal(pin.sources.includes("debian"), pin.debianSuite !== undefined);
  assert.equal(new Set(etcdPins.map((pin) => pin.version)).size, etcdPins.length);
  assert.equal(findPin("3.4.23")?.role, "upgrade-source");
});

test("etcdutl is expected from 3.5 on", () => {
  assert.equal(hasEtcdutl("3.4.23"), false);
  assert.equal(hasEtcdutl("3.5.0"), true);
  assert.equal(hasEtcdutl("4.0.0"), true);
});
