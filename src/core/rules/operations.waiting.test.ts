/** What each operation does while the cluster is paused, hibernated or without quorum: the table of docs/operations.md. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { OPERATIONS, type OperationName } from "../../api/status-words.ts";
import { restorePlan } from "../assess/restore-plan.ts";
import { decide } from "../decide.ts";
import type { AuthorityFacts, Observation } from "../observation.ts";
import type { OperationTask } from "../operations/task.ts";
import { predict } from "../plan/predict.ts";
import { settle } from "../plan/settle.ts";
import { change, edit, exited, healthy, NOW, run } from "../testing/cluster.ts";
import { asking, statusOf, reportedStatus } from "../testing/operations.ts";
import { lostQuorum, onMachine, task as recovery, until, world as lost } from "../testing/quorum-loss.ts";

const DOCUMENT = path.join(import.meta.dirname, "..", "..", "..", "docs", "operations.md");
const SITUATIONS = ["paused", "hibernated", "no quorum"] as const;
type Situation = (typeof SITUATIONS)[number];
type Phase = "pending" | "running";

const steady: AuthorityFacts = { current: "old", phase: "Steady", expiresAt: NOW * 2, rotateAt: NOW * 2 };
/** With a history to compact, certificates to reissue, and a place for a snapshot. */
const world = aged(
  onMachine({
    ...healthy(),
    platform: { ...healthy().platform, authorities: { client: steady, peer: steady } },
  }),
);

const source = { s3: { bucket: "backups", key: "demo.db" } };
const { uid, marks, spec } = world.cluster;
const of = { uid, clusterID: marks.established?.clusterID, version: spec.version };
const TASKS: { readonly [Name in OperationName]: Extract<OperationTask, { kind: Name }> } = {
  defragment: { kind: "defragment" },
  compact: { kind: "compact", retain: 0 },
  moveLeader: { kind: "moveLeader", to: "demo-2" },
  replaceMember: { kind: "replaceMember", name: "demo-3" },
  recoverQuorum: recovery,
  restore: { kind: "restore", source, approve: restorePlan(of, { source }) },
  restart: { kind: "restart" },
  rotateCertificates: { kind: "rotateCertificates" },
  collectReport: { kind: "collectReport" },
};

/** A cluster that begins anew from its data or a snapshot is more than predict() tells: its next step has to be enough. */
const NEXT_STEP: Partial<Record<OperationName, string>> = {
  restore: "FetchSnapshot",
  recoverQuorum: "RescueData",
};

for (const name of OPERATIONS)
  for (const phase of ["pending", "running"] as const) {
    if (name === "collectReport" && phase === "running") continue; // It ends as it begins.
    describe(`${name}, ${phase}`, () => {
      for (const situation of SITUATIONS)
        for (const [how, here] of worldsOf(name, phase, situation))
          test(`${situation}${how}: ${documented(name, phase, situation)}`, () => {
            assertAs(documented(name, phase, situation), here);
          });
    });
  }

test("once the cluster is resumed, awake or has its quorum back, every operation goes on", () => {
  for (const name of OPERATIONS.filter((one) => one !== "collectReport"))
    for (const phase of ["pending", "running"] as const)
      for (const situation of SITUATIONS)
        for (const [how, here] of worldsOf(name, phase, situation)) {
          const reported = `${name}, ${phase}, ${situation}${how}`;
          const isRejected = name === "restore" && phase === "pending" && situation !== "no quorum";
          if (!isRejected) assertGoesOn(name, ended(here, situation, name), reported);
        }
});

function assertAs(text: string, here: Observation): void {
  const { act } = decide(here);
  const [, phase, reasons] = /^`(\w+)` with reason (.*)/.exec(text) ?? [];
  if (phase !== undefined) {
    assert.equal(act, undefined);
    const words = (reasons ?? "").match(/(?<=`)\w+(?=`)/g) ?? [];
    assert.ok(
      words.map((reason) => `${phase} ${reason}`).includes(reportedStatus(here)),
      reportedStatus(here),
    );
    return;
  }
  if (text === "runs") return assert.equal(reportedStatus(here), "Succeeded Completed");
  if (text.startsWith("starts")) {
    assert.ok(act?.action.kind === "UpdateOperation" && act.action.purpose === "start", act?.action.kind);
    return;
  }
  if (text === "continues") return assert.match(act?.rule ?? "", /^(?:recover|restore-in-place)$/);
  assert.match(
    text,
    /^no further step until the pause ends|^continues when the (?:cluster wakes|quorum is back)/,
  );
  assert.equal(act, undefined);
  assert.match(
    reportedStatus(here),
    /^Running (?:Paused|Hibernated|Waking|QuorumLost|DataGone|EtcdUnreachable)$/,
  );
}

function assertGoesOn(name: OperationName, here: Observation, reported: string): void {
  const kind = NEXT_STEP[name];
  if (kind === undefined) return assert.equal(statusOf(run(here)).phase, "Succeeded", reported);
  assert.ok(
    until(here, (action) => action.kind === kind),
    reported,
  );
}

/** What the table says of it; rows without a phase are for both, and the last two for all that have none of their own. */
function documented(name: OperationName, phase: Phase, situation: Situation): string {
  const rows = readFileSync(DOCUMENT, "utf8")
    .split("\n")
    .filter((line) => line.startsWith("| "))
    .map((line) => line.split("|").map((cell) => cell.trim()));
  const head = rows.find((cells) => cells.includes("no quorum")) ?? [];
  const row = [`\`${name}\``, `\`${name}\`, ${phase}`, `all others, ${phase}`]
    .map((label) => rows.find((cells) => cells[1] === label && cells.length === head.length))
    .find((found) => found !== undefined);
  return row?.[head.indexOf(situation)] ?? "";
}

/** Ways to come into a situation, each with the operation in its phase. */
function worldsOf(name: OperationName, phase: Phase, situation: Situation): [how: string, Observation][] {
  const before = phaseOf(asking(name === "recoverQuorum" ? lost : world, TASKS[name]), phase);
  if (situation === "paused") return [["", edit(before, { paused: true })]];
  if (situation === "hibernated") return [["", asleep(edit(before, { replicas: 0 }))]];
  if (name === "recoverQuorum") return [["", before]];
  const silent = (o: Observation, member: string) =>
    change(o, member, { answer: { reachable: false, error: "connection refused" }, unhealthySince: NOW });
  return [
    [" (two members end)", ["demo-2", "demo-3"].reduce((o, member) => exited(o, member), before)],
    [" (two members do not answer)", ["demo-2", "demo-3"].reduce(silent, before)],
    [" (two disks are wiped)", { ...lostQuorum(), operations: before.operations }],
  ].filter(([how]) => name !== "restore" || how !== " (two disks are wiped)") as [string, Observation][];
}

function phaseOf(asked: Observation, phase: Phase): Observation {
  let now = asked;
  while (phase === "running" && statusOf(now).phase !== "Running") {
    const { act } = decide(now);
    assert.ok(act);
    now = predict(now, act.action);
  }
  return now;
}

/** All members are stopped. */
function asleep(asked: Observation): Observation {
  for (let now = asked, i = 0; i < 40; i++) {
    const { act } = decide(now);
    if (!act) return now;
    now = settle(predict(now, act.action));
  }
  throw new Error("it does not fall asleep");
}

/** Resumed, awake with its history, or with all members as they were. */
function ended(here: Observation, situation: Situation, name: OperationName): Observation {
  if (situation === "paused") return edit(here, { paused: false });
  if (situation === "no quorum")
    return name === "recoverQuorum" ? here : { ...world, operations: here.operations };
  const awake = edit(here, { replicas: 3 });
  return name in NEXT_STEP ? awake : aged(wakened(awake));
}

/** Up to where every member answers again. */
function wakened(asked: Observation): Observation {
  for (let now = asked, i = 0; i < 40; i++) {
    if (now.members.every(({ answer }) => answer.reachable)) return now;
    const { act } = decide(now);
    now = settle(act ? predict(now, act.action) : now);
  }
  throw new Error("it does not wake");
}

/** At revision 100. */
function aged(o: Observation): Observation {
  return o.members.reduce(
    (now, { record }) =>
      change(now, record.name, ({ answer }) => ({
        answer: answer.reachable ? { ...answer, revision: 100 } : answer,
      })),
    o,
  );
}
