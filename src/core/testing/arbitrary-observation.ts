/**
 * Arbitrary observations: records, volumes, processes, answers and lists that need not fit together, since a
 * crash, a restored backup or a person's hand can bring about nearly anything. Every part may be missing,
 * stale or wrong; only its form is right.
 */
import fc from "fast-check";
import type {
  Clash,
  EtcdFacts,
  EtcdMemberEntry,
  MemberAnswer,
  MemberFacts,
  NotMade,
  Observation,
  UnreadableMark,
  VolumeFacts,
  WorkloadFacts,
} from "../observation.ts";
import type { ClusterMarks, MemberRecord } from "../record.ts";
import { startHash, templateFor } from "../template/template.ts";
import { minorOf } from "../version/version.ts";
import { arbitraryLoss, arbitraryNode } from "./arbitrary-loss.ts";
import { arbitraryOperations } from "./arbitrary-operations.ts";
import { clash, maybe, mostly, past, RARE, seldom, usually } from "./arbitrary-parts.ts";
import { arbitrarySnapshots } from "./arbitrary-snapshots.ts";
import { arbitrarySpec, RESTORE, VERSIONS } from "./arbitrary-spec.ts";
import { brief } from "./brief.ts";
import { specOf, NOW } from "./cluster.ts";

const UID = "11111111-2222";
const CLUSTER_ID = "c1";
const marks: fc.Arbitrary<ClusterMarks> = fc.record({
  life: usually(1, fc.constant(2)),
  established: usually<ClusterMarks["established"]>(
    { token: `${UID}-1`, clusterID: CLUSTER_ID },
    fc.constant(undefined),
    fc.constant(undefined),
    fc.constant({ token: `${UID}-2`, clusterID: CLUSTER_ID }),
  ),
  highestOrdinal: fc.integer({ min: 0, max: 12 }),
  batchJoined: maybe(fc.boolean()),
  replaced: maybe(fc.dictionary(fc.constantFrom("demo-90", "demo-91", "demo-92"), past, { maxKeys: 3 })),
  failedTarget: maybe(
    fc.constantFrom("0000", "ffff").map((hash) => ({ hash, member: "demo-1", reason: "bad flag" })),
  ),
});

/** Parsing a spec is slow, and a run needs many. */
const templates = Object.fromEntries(
  VERSIONS.flatMap((version) =>
    (["Info", "Debug"] as const).flatMap((logLevel) =>
      (["Required", "None"] as const).map((clientAuth) => [
        `${version} ${logLevel} ${clientAuth}`,
        templateFor(specOf({ version, options: { logLevel }, tls: { clientAuth } }), version),
      ]),
    ),
  ),
);

/** What most members have in common. */
interface Common {
  readonly version: string;
  readonly run: boolean;
  readonly clientAuth: "Required" | "None";
  /** Ordinal of the one that leads. */
  readonly leader: number;
}

function recordOf(ordinal: number, { version: common, run, clientAuth }: Common): fc.Arbitrary<MemberRecord> {
  const peers = [1, 2, 3].map((n) => ({ name: `demo-${n}`, peerURL: peerURL(n) }));
  return fc
    .record({
      role: usually<MemberRecord["role"]>("Voter", fc.constant("Learner"), fc.constant("Learner")),
      life: usually(1, fc.constant(2)),
      boot: fc.constantFrom("New" as const, "Join" as const),
      initialCluster: fc.constantFrom(peers, peers.slice(0, 1), []),
      knowsID: mostly,
      volumeUID: usually<string | undefined>(`v${ordinal}`, fc.constant(undefined)),
      joined: usually(true, fc.constant(false), fc.constant(false)),
      run: usually(run, fc.constant(!run)),
      version: usually(common, fc.constantFrom(...VERSIONS)),
      logLevel: usually<"Info" | "Debug">("Info", fc.constant("Debug"), fc.constant("Debug")),
      clientAuth: usually(clientAuth, fc.constantFrom("Required" as const, "None" as const)),
      restore: maybe(fc.constant(RESTORE)),
      retiring: usually<MemberRecord["retiring"]>(undefined, fc.constant({ reason: "it is old" })),
      leaving: usually<MemberRecord["leaving"]>(
        undefined,
        fc.constant({ reason: "it goes", volume: "Delete" as const }),
        fc.constant({ reason: "it is broken", volume: "Retain" as const, broken: true }),
      ),
    })
    .map(({ life, knowsID, version, logLevel, clientAuth: asks, ...rest }) => ({
      ...rest,
      name: `demo-${ordinal}`,
      ordinal,
      uid: `u${ordinal}`,
      resourceVersion: "1",
      createdAt: NOW - 1000,
      token: `${UID}-${life}`,
      address: addressOf(ordinal),
      memberID: knowsID ? idOf(ordinal) : undefined,
      template: templates[`${version} ${logLevel} ${asks}`] ?? templateFor(specOf({ version }), version),
    }));
}

const idOf = (ordinal: number) => `a${ordinal}`;
const peerURL = (ordinal: number) => `https://demo-${ordinal}.demo:2380`;

function addressOf(ordinal: number): MemberRecord["address"] {
  const clientURL = `https://demo-${ordinal}.demo:2379`;
  const metricsURL = `http://demo-${ordinal}.demo:2381`;
  return {
    peerURL: peerURL(ordinal),
    clientURL,
    metricsURL,
    listenPeerURL: peerURL(ordinal),
    listenClientURL: clientURL,
    listenMetricsURL: metricsURL,
  };
}

const volumeOf = (ordinal: number): fc.Arbitrary<VolumeFacts> =>
  usually<VolumeFacts>(
    { state: "ready", uid: `v${ordinal}` },
    fc.constant({ state: "ready", uid: "another" }),
    fc.constant({ state: "absent" }),
    fc.constant({ state: "pending", reason: "not bound" }),
    past.map((since) => ({
      state: "pending" as const,
      reason: "it is being deleted",
      clearing: { since, where: "/data on node-1" },
    })),
    fc.constant({ state: "unreachable", uid: `v${ordinal}`, reason: "node gone" }),
  );

const workloadOf = (record: MemberRecord): fc.Arbitrary<WorkloadFacts> => {
  const from = usually(startHash(record), fc.constant("something else"));
  const restarts = fc.integer({ min: 0, max: 3 });
  return fc.oneof(
    {
      weight: 8,
      arbitrary: fc.record({
        state: fc.constant("running" as const),
        since: past,
        startedFrom: from,
        restarts,
        resizable: fc.boolean(),
        ready: fc.constantFrom(undefined, true, true, false),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        state: fc.constant("exited" as const),
        since: past,
        startedFrom: from,
        restarts,
        cause: fc.constantFrom(
          "data-missing",
          "data-corrupt",
          "data-differs",
          "removed",
          "member-list-mismatch",
          "already-bootstrapped",
          "data-newer",
          "bad-configuration",
          "disk-full",
          "restore-failed",
          "killed",
          "unknown",
        ),
        detail: fc.constant("as the log says"),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        state: fc.constant("absent" as const),
        notMade: maybe(fc.constant({ reason: "PodRefused" as const, message: "a quota" })),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        state: fc.constant("stopping" as const),
        since: past,
        startedFrom: maybe(from),
        lostNode: maybe(fc.constant("node-7")),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        state: fc.constant("waiting" as const),
        since: past,
        reason: fc.constant("unschedulable"),
        badImage: maybe(fc.constant(true)),
      }),
    },
  );
};

const answerOf = (ordinal: number, { leader, version }: Common): fc.Arbitrary<MemberAnswer> =>
  fc.oneof(
    {
      weight: 2,
      arbitrary: fc.record({
        reachable: fc.constant(false as const),
        error: fc.constant("connection refused"),
        cause: fc.constantFrom("network", "certificate", "authentication", "unknown", undefined),
      }),
    },
    {
      weight: RARE,
      arbitrary: fc
        .record({
          memberID: usually(idOf(ordinal), fc.constant("ff")),
          clusterID: usually(CLUSTER_ID, fc.constant("other")),
          leaderID: usually(idOf(leader), fc.constant("0")),
          isLearner: fc.boolean(),
          version: usually(version, fc.constantFrom(...VERSIONS)),
          storageVersion: fc.constantFrom("", "", "3.6.0", "3.7.0"),
          raftAppliedIndex: fc.constantFrom(5000, 4990, 10),
          dbSize: usually(1e6, fc.constant(1e9), fc.constant(2 ** 31)),
          dbSizeQuota: fc.constantFrom(undefined, undefined, 2 ** 31, 1e6),
          linearizable: mostly,
          refused: seldom,
          downgrade: usually<{ enabled: boolean; target: string } | undefined>(
            undefined,
            fc.constant({ enabled: true, target: "3.5.0" }),
            fc.constant({ enabled: true, target: "3.6.0" }),
          ),
        })
        .map((rest) => ({
          ...rest,
          refused: rest.refused && !rest.linearizable,
          reachable: true as const,
          raftIndex: 5000,
          raftTerm: 3,
          revision: 1000,
          dbSizeInUse: rest.dbSize / 4,
        })),
    },
  );

const memberOf = (ordinal: number, common: Common): fc.Arbitrary<MemberFacts> =>
  recordOf(ordinal, common).chain((record) =>
    fc.record({
      record: fc.constant(record),
      deleting: seldom,
      volume: volumeOf(ordinal),
      workload: workloadOf(record),
      answer: answerOf(ordinal, common),
      unconfirmed: seldom,
      forgot: usually<MemberFacts["forgot"]>(
        undefined,
        fc.constant({ evidence: "it is at revision 1, and 900 was seen before", seenRevision: 900 }),
      ),
      unhealthySince: maybe(past),
      seenByPeers: fc.constantFrom(undefined, true, false),
      alive: fc.constantFrom(undefined, true, false),
      node: usually<MemberFacts["node"]>(undefined, arbitraryNode),
    }),
  );

function entryOf(ordinal: number): fc.Arbitrary<EtcdMemberEntry> {
  return fc.record({
    id: fc.constant(idOf(ordinal)),
    name: usually(`demo-${ordinal}`, fc.constant("")),
    peerURLs: fc.constant([peerURL(ordinal)]),
    clientURLs: fc.constant([`https://demo-${ordinal}.demo:2379`]),
    isLearner: usually(false, fc.constant(true), fc.constant(true), fc.constant(true)),
    ours: mostly,
    recordUnconfirmed: seldom,
  });
}

function etcdOf(ordinals: readonly number[], { version }: Common): fc.Arbitrary<EtcdFacts> {
  // Most members are listed, some are not, and some entries have no record.
  const listed = usually([...ordinals], fc.subarray([...ordinals]), fc.subarray([...ordinals]));
  const entries = fc
    .tuple(listed, usually<number[]>([], fc.constant([50]), fc.constant([50, 51])))
    .chain(([some, more]) => fc.tuple(...[...some, ...more].map(entryOf)));
  const names = ordinals.map((ordinal) => `demo-${ordinal}`);
  const hash = fc.record({
    hash: usually(1, fc.constant(2), fc.constant(2)),
    compactRevision: usually(3, fc.constant(2)),
  });
  return fc.record({
    list: fc.oneof(
      {
        weight: RARE,
        arbitrary: fc.record({
          clusterID: usually(CLUSTER_ID, fc.constant("other")),
          linearizable: mostly,
          members: entries,
        }),
      },
      { weight: 1, arbitrary: fc.constant(undefined) },
    ),
    clusterVersion: usually<string | undefined>(
      minorOf(version),
      fc.constantFrom("3.5", "3.6", "3.7"),
      fc.constant(undefined),
    ),
    alarms: usually<EtcdFacts["alarms"]>(
      [],
      fc.constant([{ memberID: "0", alarm: "CORRUPT" }]),
      fc.constant([{ memberID: "a1", alarm: "NOSPACE" }]),
    ),
    hashes: maybe(
      fc.record({
        at: fc.constantFrom(NOW, NOW - 30_000, NOW - 4_000_000),
        revision: fc.constant(900),
        byMember:
          names.length > 0
            ? fc.dictionary(fc.constantFrom(...names), hash, { maxKeys: names.length })
            : fc.constant({}),
      }),
    ),
    nudgedAt: maybe(past),
    disarmedAt: maybe(fc.dictionary(fc.constantFrom("a1", "a2", "0"), past, { maxKeys: 2 })),
    compacted: maybe(fc.record({ revision: fc.constantFrom(1000, 500), at: past })),
    defragmentedAt: fc.constant({}),
  });
}

export const arbitraryObservation: fc.Arbitrary<Observation> = fc
  .record({
    ordinals: fc.uniqueArray(fc.integer({ min: 1, max: 8 }), { maxLength: 6 }),
    leaderAt: fc.nat(),
    version: fc.constantFrom(...VERSIONS),
    run: mostly,
    clientAuth: usually<"Required" | "None">("Required", fc.constant("None")),
  })
  .chain(({ ordinals, leaderAt, version, run, clientAuth }) => {
    const sorted = ordinals.toSorted((a, b) => a - b);
    const common = { version, run, clientAuth, leader: sorted[leaderAt % Math.max(1, sorted.length)] ?? 1 };
    return fc.record({
      now: fc.constant(NOW),
      cluster: fc.record({
        name: fc.constant("demo"),
        namespace: fc.constant("default"),
        uid: fc.constant(UID),
        generation: fc.constant(3),
        deleting: seldom,
        approved: maybe(
          fc.constantFrom("replace-demo-1", "replace-demo-2", "restart-demo-1", "restart-demo-2"),
        ),
        spec: arbitrarySpec,
        marks,
        unreadable: usually<UnreadableMark[] | undefined>(
          undefined,
          fc.constant([{ path: "metadata.annotations[replaced]", message: "no JSON", holds: ["heal"] }]),
          fc.constant([{ path: "metadata.annotations[target]", message: "no JSON", holds: ["roll"] }]),
        ),
      }),
      operations: arbitraryOperations,
      snapshots: arbitrarySnapshots,
      members: fc.tuple(...sorted.map((ordinal) => memberOf(ordinal, common))),
      etcd: etcdOf(sorted, common),
      platform: fc.record({
        fenced: seldom,
        offers: fc.constantFrom(
          Array.from({ length: 60 }, (_, i) => ({ ordinal: i + 1, address: addressOf(i + 1) })),
          [],
        ),
        highestLeftover: fc.integer({ min: 0, max: 3 }),
        unavailableVersions: fc.constantFrom<Record<string, string>>({}, {}, { "3.7.3": "no such release" }),
        clashes: usually<Clash[]>([], clash),
        newcomersBlocked: usually<NotMade | undefined>(
          undefined,
          fc.constant({ reason: "PodRefused", message: "exceeded quota" }),
        ),
        opened: fc.constantFrom(undefined, true, true, false),
        clientsChooseSince: maybe(past),
        progressAt: maybe(past),
      }),
    });
  })
  .chain((o) =>
    fc.oneof({ weight: 5, arbitrary: fc.constant(o) }, { weight: 1, arbitrary: arbitraryLoss(o) }),
  )
  .map((o) => Object.defineProperty(o, fc.toStringMethod, { value: () => brief(o) }));
