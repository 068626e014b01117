import assert from "node:assert/strict";
import { test } from "node:test";
import { newest } from "../../recovery/compare.ts";
import type { DirectoryFacts } from "../../recovery/directory.ts";
import { directoryLines, newestLine } from "./directories.ts";

function data(term: number, index: number, clusterID = "c1"): DirectoryFacts {
  return {
    state: "data",
    log: {
      clusterID,
      memberID: "a1",
      state: { term: term + 1, vote: "a1", commit: index - 2 },
      last: { term, index },
      snapshot: { term: 1, index: 20 },
      torn: false,
    },
    database: {
      consistentIndex: index - 5,
      revision: 30,
      size: 24 * 1024,
      storageVersion: "3.6.0",
      members: [
        { id: "a1", name: "demo-1", peerURLs: [], isLearner: false },
        { id: "b2", name: "", peerURLs: [], isLearner: true },
      ],
    },
  };
}

const all = (...facts: DirectoryFacts[]) =>
  facts.map((one, index) => ({ directory: `/data/${index + 1}`, facts: one }));

const verdict = (...facts: DirectoryFacts[]) => newestLine(all(...facts), newest(facts)).join("");

test("a directory with data is told with its log and its database", () => {
  assert.deepEqual(directoryLines({ directory: "/data/1", facts: data(3, 40) }), [
    "Directory        /data/1",
    "State            etcd can start from it",
    "Cluster ID       c1",
    "Member ID        a1",
    "Last entry       term 3, index 40",
    "Committed        up to index 38, as far as this member knows",
    "Term             4, voted for a1",
    "Raft snapshot    index 20",
    "End of log       clean",
    "Database         24.0 KiB, applied up to index 35",
    "Revision         30 in the database, up to 35 with the 5 entries that a start replays",
    "Storage version  3.6.0",
    "Members          demo-1 (a1), (never started) (b2, learner)",
  ]);
});

test("an empty directory and a damaged one say why etcd cannot start from them", () => {
  assert.match(
    directoryLines({ directory: "/d", facts: { state: "empty" } }).join("\n"),
    /no write-ahead log/,
  );
  const damaged = { state: "damaged", why: "its database (member/snap/db) is missing" } as const;
  assert.deepEqual(directoryLines({ directory: "/d", facts: damaged }), [
    "Directory  /d",
    "State      damaged: its database (member/snap/db) is missing",
  ]);
});

test("of several directories the one with the newest last entry has the newest log: the term before the index", () => {
  assert.equal(verdict(data(3, 40)), "");
  assert.equal(verdict(data(3, 40), data(4, 12), { state: "empty" }), "/data/2 has the newest log.");
  assert.equal(
    verdict(data(3, 40), data(3, 40), data(3, 39)),
    "/data/1 and /data/2 have the newest log: they end with the same entry.",
  );
  assert.equal(
    verdict({ state: "empty" }, { state: "empty" }),
    "None of them holds data that etcd can start from.",
  );
  assert.equal(
    verdict(data(3, 40), data(9, 99, "c2")),
    "They are of different clusters, so their logs cannot be compared.",
  );
});
