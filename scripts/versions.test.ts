import assert from "node:assert/strict";
import { test } from "node:test";
import { RELEASES, releaseOf } from "../src/core/version/releases.ts";
import { minorOf } from "../src/core/version/version.ts";
import { etcdPins } from "../src/etcd/versions.ts";

// Two lists for two purposes: what the rules let a cluster run, and what is installed and tested.
const newest = etcdPins.filter((pin) => pin.role === "newest");

test("upgrades pass through the newest patch of a minor that is installed and tested", () => {
  const tested = new Map(newest.map((pin) => [minorOf(pin.version), pin.version]));
  const known = RELEASES.filter((release) => release.startFloor !== undefined);
  assert.deepEqual(tested, new Map(known.map((release) => [release.minor, release.knownGood])));
});

test("a new cluster may start with every patch that is tested as newest or older", () => {
  for (const { version, role } of etcdPins) {
    if (role === "upgrade-source") continue;
    const { startFloor, securityFloor } = releaseOf(minorOf(version)) ?? {};
    for (const floor of [startFloor, securityFloor]) {
      assert.ok(floor !== undefined && patch(version) >= patch(floor), `${version} is below ${floor}`);
    }
  }
});

test("what upgrades are tested from is of a minor that the rules know", () => {
  for (const { version } of etcdPins) assert.ok(releaseOf(minorOf(version)), version);
});

function patch(version: string): number {
  return Number(version.split(".")[2]);
}
