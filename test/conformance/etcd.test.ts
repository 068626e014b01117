/**
 * The model etcd of the simulator against real etcd: the same random calls and lives of processes, the same answers.
 * The newest version here, each with `--all`, and in the long run, which is `npm run sim:conformance -- --etcd`.
 */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { compareEtcd } from "./etcd.ts";
import { sampledVersions } from "../support/sample.ts";

suite("the model etcd and the real one", { concurrency: true }, () => {
  for (const version of sampledVersions)
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
