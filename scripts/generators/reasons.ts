/** Generates the page of reasons (`docs/reasons.md`) from the tables in src/core/messages. */
import { CONDITION_REASONS } from "../../src/core/messages/condition-reasons.ts";
import { EVENT_REASONS } from "../../src/core/messages/event-reasons.ts";
import { AUTH_REASONS } from "../../src/core/messages/auth-reasons.ts";
import { OPERATION_REASONS } from "../../src/core/messages/operation-reasons.ts";
import { REASONS, WORK, type HoldReason, type ReasonText } from "../../src/core/messages/reasons.ts";
import { FOLLOWER_REASONS } from "../../src/core/messages/follower-reasons.ts";
import { SCHEDULE_REASONS } from "../../src/core/messages/schedule-reasons.ts";
import { SNAPSHOT_REASONS } from "../../src/core/messages/snapshot-reasons.ts";
import { VERIFICATION_REASONS } from "../../src/core/messages/verification-reasons.ts";
import { MESSAGES } from "../../src/core/messages/table.ts";
import type { StepRow, WaitRow } from "../../src/core/messages/message.ts";
import type { Generator } from "../generate/registry.ts";

const INTRODUCTION = `<!-- Generated from src/core/messages by \`npm run generate\`. Do not edit. -->

# Reasons

When a cluster waits, the reason stands in the conditions \`Ready\`, \`Reconciling\` and \`Stalled\`, in events, in the label \`reason\` of metrics
and in the output of \`kubectl etcd why\` and \`quorate local why\`. Reasons are stable: one is renamed or removed only with a line in
CHANGELOG.md. The sentences beside them are for people and may improve; do not match them in alerts or scripts.

Reasons marked **needs a person** do not end by themselves. The examples use a cluster named \`demo\`.

`;

const WORKING = `## While steps are taken

| reason | meaning |
|---|---|
`;

const CONDITIONS = `
## Other reasons of conditions

Conditions of an EtcdCluster and of an EtcdMember have the reasons above, those of its schedules for \`BackedUp\`, or one of these.

| reason | condition | meaning | what to do |
|---|---|---|---|
`;

const EVENTS = `
## Reasons of events

The reason of an event is the kind of the step that was taken, with \`Failed\` after it if it failed, one of the reasons
above, or one of these.

| reason | meaning | what to do |
|---|---|---|
`;

const STEPS = `
## Why steps are taken

Each step of the operator is shown with one of these explanations, in events, in \`status.plan\` and in the output of
\`quorate local\`. The code is stable like a reason.

| code | example |
|---|---|
`;

const SNAPSHOTS = `
## Reasons of an EtcdSnapshot

| reason | phase | meaning | what to do |
|---|---|---|---|
`;

const VERIFICATIONS = `
## Reasons of a verification

\`status.verification.reason\` of an EtcdSnapshot, and the reason of its condition \`Verified\`, is one of these.

| reason | phase | meaning | what to do |
|---|---|---|---|
`;

const SCHEDULES = `
## Reasons of an EtcdSnapshotSchedule

| reason | meaning | what to do |
|---|---|---|
`;

const FOLLOWERS = `
## Reasons of recorded changes

\`status.incremental.reason\` of an EtcdSnapshotSchedule, and the reason of its condition \`Following\`, is one of these.

| reason | meaning | what to do |
|---|---|---|
`;

const OPERATIONS = `
## Reasons of an EtcdOperation

\`status.reason\` of an EtcdOperation is one of these, or, while it waits for the cluster, one of the reasons above.

| reason | phase | meaning | what to do |
|---|---|---|---|
`;

const USERS = `
## Reasons of an EtcdUser or EtcdRole

The reason of its conditions, and \`status.reason\`, is one of these.

| reason | meaning | what to do |
|---|---|---|
`;

type Row = StepRow<object> | WaitRow<object>;
const rows = Object.entries(MESSAGES) as unknown as readonly [string, Row][];

export const reasonsPage: Generator = {
  name: "page of reasons (docs/reasons.md)",
  outputs: ["docs/reasons.md"],
  async generate() {
    const names = (Object.keys(REASONS) as HoldReason[]).toSorted();
    const steps = rows.flatMap(([code, row]) =>
      row.kind === "step" ? [`| \`${code}\` | ${cell(row.say(row.example))} |`] : [],
    );
    const working = Object.values(WORK).map(({ reason, meaning }) => `| \`${reason}\` | ${meaning} |`);
    const operations = Object.entries(OPERATION_REASONS).map(
      ([reason, { phases, meaning, remedy }]) =>
        `| \`${reason}\` | ${phases.join(", ")} | ${cell(meaning)} | ${cell(remedy)} |`,
    );
    const snapshots = Object.entries(SNAPSHOT_REASONS).map(
      ([reason, { phases, meaning, remedy }]) =>
        `| \`${reason}\` | ${phases.join(", ")} | ${cell(meaning)} | ${cell(remedy)} |`,
    );
    const verifications = Object.entries(VERIFICATION_REASONS).map(
      ([reason, { phases, meaning, remedy }]) =>
        `| \`${reason}\` | ${phases.join(", ")} | ${cell(meaning)} | ${cell(remedy)} |`,
    );
    const schedules = Object.entries(SCHEDULE_REASONS).map(
      ([reason, { meaning, remedy }]) => `| \`${reason}\` | ${cell(meaning)} | ${cell(remedy)} |`,
    );
    const followers = Object.entries(FOLLOWER_REASONS).map(
      ([reason, { meaning, remedy }]) => `| \`${reason}\` | ${cell(meaning)} | ${cell(remedy)} |`,
    );
    const users = Object.entries(AUTH_REASONS).map(
      ([reason, { meaning, remedy }]) => `| \`${reason}\` | ${cell(meaning)} | ${cell(remedy)} |`,
    );
    const conditions = Object.entries(CONDITION_REASONS).map(
      ([reason, { of, meaning, remedy }]) =>
        `| \`${reason}\` | ${of.map(conditionCell).join(", ")} | ${cell(meaning)} | ${cell(remedy)} |`,
    );
    const events = Object.entries(EVENT_REASONS).map(
      ([reason, { meaning, remedy }]) => `| \`${reason}\` | ${cell(meaning)} | ${cell(remedy)} |`,
    );
    const parts = [
      names.map(section).join("\n"),
      WORKING + working.join("\n"),
      CONDITIONS + conditions.join("\n"),
      EVENTS + events.join("\n"),
      OPERATIONS + operations.join("\n"),
      SNAPSHOTS + snapshots.join("\n"),
      VERIFICATIONS + verifications.join("\n"),
      SCHEDULES + schedules.join("\n"),
      FOLLOWERS + followers.join("\n"),
      USERS + users.join("\n"),
      STEPS + steps.join("\n"),
    ];
    const text = `${INTRODUCTION}${parts.join("\n")}\n`;
    return new Map([["docs/reasons.md", text]]);
  },
};

function section(reason: HoldReason): string {
  const { meaning, remedy }: ReasonText = REASONS[reason];
  const waits = rows.flatMap(([code, row]) =>
    row.kind === "wait" && row.reason === reason ? [{ code, row }] : [],
  );
  const needsPerson = waits.every(({ row }) => row.next !== undefined);
  const examples = waits.map(({ code, row }) => {
    const next = row.next === undefined ? "" : ` → ${row.next(row.example)}`;
    return `- \`${code}\`: ${row.say(row.example)}${next}`;
  });
  return [
    `## ${reason}`,
    "",
    `${meaning}${needsPerson ? " **Needs a person.**" : ""}`,
    "",
    `What to do: ${remedy}`,
    "",
    ...examples,
    "",
  ].join("\n");
}

/** The kind is no part of the name, and "all" is none. */
function conditionCell(name: string): string {
  return name.replace(/^[A-Z]\w+/, "`$&`");
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|");
}
