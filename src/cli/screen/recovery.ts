/** The plan of a recovery on the screen. */
import type { RecoveryStatus } from "../../api/etcd-cluster-status.ts";
import { formatDuration } from "../../api/duration.ts";
import { rows } from "./rows.ts";
import { tableLines } from "./table.ts";

type Range = RecoveryStatus["revision"];

export function recoveryLines({
  plan,
  survivor,
  message,
  revision,
  lostRevisions,
  lostSeconds,
  nodesOff = [],
  preferred,
  snapshot,
  pointInTime,
  members,
}: RecoveryStatus): string[] {
  return [
    ...rows(
      ["Plan", plan],
      ...nodesOff.map((node, index): [string, string] => [index === 0 ? "Only if off" : "", sayNode(node)]),
      ["Survivor", survivor],
      ["Revision", range(revision)],
      ["Lost revisions", lostRevisions ? range(lostRevisions) : "unknown"],
      ["Lost time", lostSeconds === undefined ? "unknown" : atMost(lostSeconds)],
    ),
    "",
    ...tableLines(
      [
        { title: "MEMBER" },
        { title: "DATA" },
        { title: "TERM", align: "right" },
        { title: "INDEX", align: "right" },
      ],
      members.map(({ name, data, term, index }) => [name, data, number(term), number(index)]),
      80,
    ),
    "",
    message,
    ...(snapshot
      ? [
          `${instead(preferred === "Snapshot")}EtcdSnapshot ${snapshot.name} can be restored: ${saySnapshot(snapshot)}.`,
        ]
      : []),
    ...(pointInTime
      ? [
          `${instead(preferred === "PointInTime")}what EtcdSnapshotSchedule ${pointInTime.schedule} has recorded can be restored: ${sayPoint(pointInTime)}.`,
        ]
      : []),
  ];
}

function sayNode({ name, silentSince, members }: NonNullable<RecoveryStatus["nodesOff"]>[number]): string {
  const silent = silentSince === undefined ? "silent" : `silent since ${silentSince}`;
  return `${name} (${[members.join(", "), silent].filter(Boolean).join("; ")})`;
}

const instead = (isPreferred: boolean) =>
  isPreferred ? "Preferred by spec.recovery.prefer, " : "Instead of it, ";

function saySnapshot({
  plan,
  revision,
  takenAt,
  verifiedAt,
  lostRevisions,
  lostSeconds,
}: NonNullable<RecoveryStatus["snapshot"]>): string {
  return [
    `revision ${revision}`,
    ...(takenAt === undefined ? [] : [`taken at ${takenAt}`]),
    verifiedAt === undefined ? "not verified" : `verified at ${verifiedAt}`,
    ...sayLost(plan, lostRevisions, lostSeconds),
  ].join(", ");
}

function sayPoint({
  plan,
  revision,
  time,
  lostRevisions,
  lostSeconds,
}: NonNullable<RecoveryStatus["pointInTime"]>): string {
  const until = time === undefined ? [] : [`up to ${time}`];
  return [`revision ${revision}`, ...until, ...sayLost(plan, lostRevisions, lostSeconds)].join(", ");
}

function sayLost(plan: string | undefined, lost: number | undefined, seconds: number | undefined): string[] {
  return [
    lost === undefined ? "lost revisions unknown" : `${lost} lost revisions`,
    ...(seconds === undefined ? [] : [`lost time ${atMost(seconds)}`]),
    ...(plan === undefined ? [] : [`plan ${plan}`]),
  ];
}

function atMost(seconds: number): string {
  return `at most ${formatDuration(seconds * 1_000)}`;
}

function range({ least, most }: Range): string {
  return least === most ? String(least) : `${least} to ${most}`;
}

function number(value: number | undefined): string {
  return value === undefined ? "-" : String(value);
}
