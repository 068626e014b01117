/** Data directories on the screen: what each holds, and which has the newest log. */
import type { Newest } from "../../recovery/compare.ts";
import type { DirectoryFacts } from "../../recovery/directory.ts";
import { rows } from "./rows.ts";
import { bytes } from "./words.ts";

export interface InspectedDirectory {
  readonly directory: string;
  readonly facts: DirectoryFacts;
}

export function directoryLines({ directory, facts }: InspectedDirectory): string[] {
  if (facts.state === "empty")
    return rows(
      ["Directory", directory],
      ["State", "empty: it has no write-ahead log (member/wal), so no member has run here, or it was wiped"],
    );
  const { log } = facts;
  const database = facts.state === "data" ? facts.database : undefined;
  const behind = log && database ? Math.max(0, log.last.index - database.consistentIndex) : 0;
  return rows(
    ["Directory", directory],
    ["State", facts.state === "data" ? "etcd can start from it" : `damaged: ${facts.why}`],
    ["Cluster ID", log?.clusterID],
    ["Member ID", log?.memberID],
    ["Last entry", log && `term ${log.last.term}, index ${log.last.index}`],
    ["Committed", log && `up to index ${log.state.commit}, as far as this member knows`],
    ["Term", log && `${log.state.term}${log.state.vote === "0" ? "" : `, voted for ${log.state.vote}`}`],
    ["Raft snapshot", log && (log.snapshot.index === 0 ? "none" : `index ${log.snapshot.index}`)],
    ["End of log", log && (log.torn ? "the last record is torn; etcd cuts it off at its start" : "clean")],
    ["Database", database && `${bytes(database.size)}, applied up to index ${database.consistentIndex}`],
    ["Revision", database && revision(database.revision, behind)],
    ["Storage version", database?.storageVersion],
    ["Members", database && (database.members.map(memberWords).join(", ") || "none")],
  );
}

function revision(known: number, behind: number): string {
  return behind === 0
    ? String(known)
    : `${known} in the database, up to ${known + behind} with the ${behind} entries that a start replays`;
}

function memberWords({ id, name, isLearner }: { id: string; name: string; isLearner: boolean }): string {
  return `${name || "(never started)"} (${id}${isLearner ? ", learner" : ""})`;
}

/** Nothing to say about one directory alone. */
export function newestLine(all: readonly InspectedDirectory[], best: Newest): string[] {
  if (all.length < 2) return [];
  const name = (index: number) => all[index]?.directory ?? "";
  switch (best.kind) {
    case "none":
      return ["", "None of them holds data that etcd can start from."];
    case "different-clusters":
      return ["", "They are of different clusters, so their logs cannot be compared."];
    case "one":
      return ["", `${name(best.index)} has the newest log.`];
    case "several":
      return [
        "",
        `${best.indexes.map(name).join(" and ")} have the newest log: they end with the same entry.`,
      ];
  }
}
