import assert from "node:assert/strict";
import { test } from "node:test";
import { asked } from "../core/testing/cluster.ts";
import { ManualClock } from "../etcd/testing.ts";
import { Loop } from "./loop.ts";
import type { ObjectAction, Platform, PlatformMember } from "./platform.ts";

/** A platform on which nothing ever runs: only records come about. */
function makePlatform(replicas: number) {
  const { cluster, platform } = asked({ replicas });
  const members: PlatformMember[] = [];
  const log: string[] = [];
  const execute = (action: ObjectAction) => {
    log.push(action.kind);
    if (action.kind === "CreateMember") {
      members.push({
        record: { ...action.record, uid: action.member, resourceVersion: "1", createdAt: 0 },
        deleting: false,
        volume: { state: "absent" },
        workload: { state: "absent" },
      });
    }
    return Promise.resolve();
  };
  const fake: Partial<Platform> = {
    read: () => Promise.resolve({ cluster, members: [...members], platform }),
    apply: (view) => {
      log.push(`apply ${view.members.length} of ${members.length}`);
      return Promise.resolve({ changed: false, problems: [] });
    },
    execute,
    report: () => Promise.resolve(),
    describe: () => Promise.resolve({}),
    isOurs: () => true,
  };
  return { platform: fake as Platform, log };
}

test("objects get their turn after some steps in a row, and never on a view that a step has made old", async () => {
  const { platform, log } = makePlatform(9);
  const loop = new Loop({ platform, clock: new ManualClock() });
  for (let pass = 0; pass < 11; pass++) assert.equal(await loop.pass(), pass < 10 ? 0 : 100);
  const created = (count: number) => Array.from({ length: count }, () => "CreateMember");
  assert.deepEqual(log, [...created(8), "apply 8 of 8", ...created(1), "apply 9 of 9"]);
});
