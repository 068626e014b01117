/** The plan of a recovery on the screen. */
import type { RecoveryStatus } from "../../api/etcd-cluster-status.ts";
import { rows } from "./rows.ts";
import { tableLines } from "./table.ts";

type Range = RecoveryStatus["revision"];

export function recoveryLines({
  plan,
  survivor,
  message,
  revision,
  lostRevisions,
  snapshot,
  members,
}: RecoveryStatus): string[] {
  return [
    ...rows(
      ["Plan", plan],
      ["Survivor", survivor],
      ["Revision", range(revision)],
      ["Lost revisions", lostRevisions ? range(lostRevisions) : "unknown"],
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
      ? [`Instead of it, EtcdSnapshot ${snapshot.name} can be restored: ${saySnapshot(snapshot)}.`]
      : []),
  ];
}

function saySnapshot({
  revision,
  takenAt,
  verifiedAt,
  lostRevisions,
}: NonNullable<RecoveryStatus["snapshot"]>): string {
  return [
    `revision ${revision}`,
    ...(takenAt === undefined ? [] : [`taken at ${takenAt}`]),
    verifiedAt === undefined ? "not verified" : `verified at ${verifiedAt}`,
    lostRevisions === undefined ? "lost revisions unknown" : `${lostRevisions} lost revisions`,
  ].join(", ");
}

function range({ least, most }: Range): string {
  return least === most ? String(least) : `${least} to ${most}`;
}

function number(value: number | undefined): string {
  return value === undefined ? "-" : String(value);
}
