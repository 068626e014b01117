/** When the version that the whole cluster speaks is asked for, and when it is known. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { MemberAnswer } from "../core/observation.ts";
import { healthy } from "../core/testing/cluster.ts";
import { ManualClock } from "../etcd/testing.ts";
import { AgreedVersion } from "./agreed-version.ts";

type Answer = Extract<MemberAnswer, { reachable: true }>;

const WITNESS = { url: "http://demo-1:2379" };

/** Three members of one version, and how often the version was asked for. */
function world() {
  const told: { cluster: string | undefined; asked: number } = { cluster: "3.6.0", asked: 0 };
  const versions = () => {
    told.asked++;
    if (told.cluster === undefined) return Promise.reject(new Error("no answer"));
    return Promise.resolve({ server: "3.6.16", cluster: told.cluster });
  };
  const agreed = new AgreedVersion({ versions }, new ManualClock());
  const answers = healthy({ replicas: 3 }).members.map(({ answer }) => answer as Answer);
  const ask = (change: (answer: Answer, index: number) => MemberAnswer = (same) => same) =>
    agreed.ask(
      WITNESS,
      answers.map((answer, index) => ({ answer: change(answer, index), troubled: false })),
    );
  return { told, ask };
}

test("once it is the minor that all members run, it is not asked for again", async () => {
  const { told, ask } = world();
  for (let i = 0; i < 3; i++) assert.equal(await ask(), "3.6");
  assert.equal(told.asked, 1);
});

const changes: Readonly<Record<string, (answer: Answer, index: number) => MemberAnswer>> = {
  "a member runs another patch": (answer, index) => (index === 2 ? { ...answer, version: "3.6.17" } : answer),
  "a member runs another minor": (answer, index) => (index === 2 ? { ...answer, version: "3.7.0" } : answer),
  "a member is silent": (answer, index) => (index === 2 ? { reachable: false, error: "no answer" } : answer),
  "a downgrade begins": (answer) => ({ ...answer, downgrade: { enabled: true, target: "3.5" } }),
  "another cluster answers": (answer) => ({ ...answer, clusterID: "another" }),
  "a member took the place of another": (answer, index) =>
    index === 2 ? { ...answer, memberID: "another" } : answer,
};
for (const [what, change] of Object.entries(changes)) {
  test(`it is asked for anew when ${what}`, async () => {
    const { told, ask } = world();
    await ask();
    told.cluster = "3.5.0";
    assert.equal(await ask(change), "3.5");
    assert.equal(told.asked, 2);
  });
}

test("it is asked for on every look while it is not the minor that all members run, or nobody tells it", async () => {
  for (const cluster of ["3.5.0", undefined]) {
    const { told, ask } = world();
    told.cluster = cluster;
    for (let i = 0; i < 3; i++) assert.equal(await ask(), cluster && "3.5");
    assert.equal(told.asked, 3);
  }
});
