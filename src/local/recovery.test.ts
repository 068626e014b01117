import assert from "node:assert/strict";
import { test } from "node:test";
import type { PlatformMember } from "../control/platform.ts";
import type { MemberDirectory, WorkloadFacts } from "../core/observation.ts";
import { healthy } from "../core/testing/cluster.ts";
import { systemClock } from "../seams/clock.ts";
import { layout } from "./layout.ts";
import { Recovery } from "./recovery.ts";
import { MemoryDisk } from "./testing/memory.ts";

test("a directory that looks torn is told only once nothing writes to it, and is then read again", async () => {
  const member: PlatformMember = healthy().members[0]!;
  const whole = { state: "data", clusterID: "1", memberID: "2", term: 3, index: 4, revision: 5, replay: 0 };
  const reads: MemberDirectory[] = [
    { state: "empty" },
    { state: "empty" },
    whole as MemberDirectory,
    { state: "empty" },
  ];
  const recovery = new Recovery(
    layout("/demo"),
    { disk: new MemoryDisk(), clock: systemClock, fetch: () => assert.fail("nothing is fetched") },
    {
      inspect: () => Promise.resolve(reads.shift() ?? assert.fail("read too often")),
      rescue: () => assert.fail("nothing is rescued"),
    },
    () => undefined,
  );
  const found = async (workload: WorkloadFacts) =>
    (await recovery.inspect([{ ...member, workload }]))[member.record.name]?.state;
  assert.equal(await found(member.workload), undefined);
  assert.equal(await found({ state: "stopping", since: 1 }), undefined);
  assert.equal(await found({ state: "absent" }), "data");
  recovery.forget();
  assert.equal(await found({ state: "absent" }), "empty");
});
