/**
 * The model etcd of the simulator against real etcd of each version: the same random calls and lives of processes, the
 * same answers. All versions at once, since it is mostly waiting; the long run is `npm run sim:conformance -- --etcd`.
 */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { compareEtcd } from "./etcd.ts";
import { newestVersions } from "../support/etcd-versions.ts";

suite("the model etcd and the real one", { concurrency: true }, () => {
  for (const version of newestVersions)
    test(`the model answers random calls as etcd ${version} does, and its processes end as that one's do`, async (t) => {
      const found: string[] = [];
      const report = await compareEtcd({
        version,
        seed: 5,
        calls: 240,
        callsPerRound: 240,
        lives: 0.02,
        onDifference: (text) => found.push(text),
      }).report;
      t.diagnostic(JSON.stringify(report));
      assert.deepEqual(found, []);
      assert.ok(report.calls >= 240 && report.calls - report.refused > 80, JSON.stringify(report));
    });
});
