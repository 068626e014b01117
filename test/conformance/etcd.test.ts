/**
 * The model etcd of the simulator against real etcd: the same random calls and lives of processes, the same answers.
 * The newest version here, each with `--all`, and in the long run, which is `npm run sim:conformance -- --etcd`.
 */
import assert from "node:assert/strict";
import { suite, test, type TestContext } from "node:test";
import type { EtcdReport } from "../../sim/models/etcd/conformance/options.ts";
import { compareEtcd, type EtcdConformance } from "./etcd.ts";
import { sampledVersions } from "../support/sample.ts";

async function compared(t: TestContext, options: Omit<EtcdConformance, "onDifference">): Promise<EtcdReport> {
  const found: string[] = [];
  const report = await compareEtcd({ ...options, onDifference: (text) => found.push(text) }).report;
  t.diagnostic(JSON.stringify(report));
  assert.deepEqual(found, []);
  return report;
}

suite("the model etcd and the real one", { concurrency: true }, () => {
  for (const version of sampledVersions) {
    test(`the model answers random calls as etcd ${version} does, and its processes end as that one's do`, async (t) => {
      const report = await compared(t, { version, seed: 5, calls: 240, callsPerRound: 240, lives: 0.02 });
      assert.ok(report.calls >= 240 && report.calls - report.refused > 80, JSON.stringify(report));
    });

    test(`a restored snapshot and --force-new-cluster leave in the model what they leave in etcd ${version}`, async (t) => {
      const report = await compared(t, { version, seed: 3, calls: 110, lives: 0.01, callsPerDisaster: 10 });
      assert.ok(report.disasters >= 3, JSON.stringify(report));
    });
  }
});
