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
  ];
}

function range({ least, most }: Range): string {
  return least === most ? String(least) : `${least} to ${most}`;
}

function number(value: number | undefined): string {
  return value === undefined ? "-" : String(value);
}
