/** A fixture as a whole Observation: what etcd would answer is added, for members whose Pod runs. */
import { peerURLOf } from "../../core/config/flags.ts";
import type { MemberAnswer, MemberFacts, Observation } from "../../core/observation.ts";
import type { MemberRecord } from "../../core/record.ts";
import { isOurPeerURL } from "../names.ts";
import { observeObjects } from "../observe/observe-objects.ts";
import type { Fixture } from "./fixtures.ts";

const SILENT: MemberAnswer = { reachable: false, error: "connection refused" };

/** `unhealthyForMs`: how long those that do not run have not been healthy. */
export function observationOf({ now, objects }: Fixture, unhealthyForMs = 0): Observation {
  const observed = observeObjects(objects, { now, fenced: false });
  if (!observed.ok) throw new Error(JSON.stringify(observed.errors));
  const { cluster, members, platform, operations } = observed.state;
  const clusterID = cluster.marks.established?.clusterID ?? "";
  const joined = members.filter(({ record }) => record.joined);
  const running = joined.filter(({ workload }) => workload.state === "running");
  const hasQuorum = running.length > joined.length / 2;
  const leaderID = (hasQuorum && running[0]?.record.memberID) || "0";
  return {
    now,
    cluster,
    members: members.map((member): MemberFacts => {
      const runs = running.includes(member);
      const answer = runs ? answerOf(member.record, clusterID, leaderID) : SILENT;
      return { ...member, answer, ...(!runs && { unhealthySince: now - unhealthyForMs }) };
    }),
    etcd: {
      ...(running.length > 0 && {
        list: {
          clusterID,
          linearizable: hasQuorum,
          members: joined.map(({ record }) => ({
            id: record.memberID ?? "",
            name: record.name,
            peerURLs: [peerURLOf(record)],
            clientURLs: [record.address.clientURL],
            isLearner: false,
            ours: isOurPeerURL(cluster, record.address.peerURL),
          })),
        },
      }),
      clusterVersion: "3.6",
      alarms: [],
      hashes: { at: now, revision: 0, byMember: {} },
      defragmentedAt: {},
    },
    platform,
    operations,
  };
}

function answerOf(record: MemberRecord, clusterID: string, leaderID: string): MemberAnswer {
  return {
    reachable: true,
    memberID: record.memberID ?? "",
    clusterID,
    leaderID,
    isLearner: false,
    version: record.template.version,
    storageVersion: "3.6.0",
    raftIndex: 20,
    raftAppliedIndex: 20,
    raftTerm: 2,
    revision: 1,
    dbSize: 20_480,
    dbSizeInUse: 16_384,
    linearizable: leaderID !== "0",
  };
}
