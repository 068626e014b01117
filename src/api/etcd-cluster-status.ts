/**
 * The status of a cluster: what is so, in words and numbers. Nothing here is needed to go on; the
 * operator finds its way back when all of it is deleted.
 */
import { z } from "zod";
import { conditionsSchema, timestamp } from "./metadata.ts";
import { int, text } from "./scalars.ts";
import { BACKED_UP, CLUSTER_CONDITIONS, CLUSTER_PHASES } from "./status-words.ts";

const count = () => int(0, Number.MAX_SAFE_INTEGER);

export const memberStatusSchema = z.strictObject({
  name: text(63).describe("Name of the member, and of its EtcdMember."),
  id: text(20).optional().describe("Member ID in etcd, in hexadecimal."),
  role: z.enum(["Leader", "Follower", "Learner", "Unknown"]).describe("What it is in etcd."),
  healthy: z.boolean().describe("Whether it answers and has no alarm of its own."),
  fenced: z
    .boolean()
    .optional()
    .describe("True if it is fenced: it runs and votes, but clients are not sent to it."),
  version: text(32).optional().describe("The etcd version it runs."),
  dbSize: count().optional().describe("Bytes of its database file."),
  dbSizeInUse: count().optional().describe("Bytes of it that hold data."),
  raftLag: count().optional().describe("Entries it is behind the leader."),
  alarms: z.array(text(32)).max(16).optional().describe("Its alarms, like NOSPACE or CORRUPT."),
  node: text(253).optional().describe("The node it runs on."),
  certExpiry: timestamp().optional().describe("When the first of its certificates ends."),
});

export const planStepSchema = z.strictObject({
  step: text(64).describe("Kind of the step."),
  member: text(63).optional().describe("The member it concerns."),
  text: text(1024).describe("The step as a sentence."),
  waitingFor: text(1024).optional().describe("What the step waits for, if it does."),
});

export const approvalStatusSchema = z.strictObject({
  approval: text(128).describe("Value of the annotation etcd.quorate.dev/approve that approves it."),
  message: text(1024).describe("What waits for it, as a sentence."),
});

const rangeSchema = z.strictObject({
  least: count().describe("At least so many."),
  most: count().describe("At most so many."),
});

const restorePlanHash = () =>
  text(16)
    .optional()
    .describe("Hash of the plan to restore it: an EtcdOperation with restore.approve of this value runs it.");

const lostSeconds = () =>
  count()
    .optional()
    .describe(
      "Everything that would be lost was written within at most so many seconds before quorum was lost; absent if the operator does not know.",
    );

export const recoverySchema = z.strictObject({
  plan: text(16).describe(
    "Hash of this plan: an EtcdOperation with recoverQuorum.approve of this value runs it.",
  ),
  survivor: text(63).describe(
    "The member to recover from: of the remaining members, the one with the newest log.",
  ),
  message: text(1024).describe("What would be done and what would be lost, in one sentence."),
  revision: rangeSchema.describe("The revision that the data of the survivor reaches."),
  lostRevisions: rangeSchema
    .optional()
    .describe("Revisions that the operator has seen and that would be lost; absent if it does not know."),
  lostSeconds: lostSeconds(),
  nodesOff: z
    .array(
      z.strictObject({
        name: text(253).describe("Name of the node."),
        silentSince: timestamp().optional().describe("Since when its kubelet has not reported."),
        members: z.array(text(63)).max(64).describe("The members that may run there."),
      }),
    )
    .max(64)
    .meta({ "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"] })
    .optional()
    .describe(
      "Nodes that do not report and where a member may still run. The plan is valid only if they are off: to approve it, name them in nodesOff.",
    ),
  preferred: z
    .enum(["Survivor", "Snapshot", "PointInTime"])
    .optional()
    .describe("Which alternative spec.recovery.prefer asks for, of those that there are."),
  snapshot: z
    .strictObject({
      name: text(253).describe("Name of the EtcdSnapshot."),
      plan: restorePlanHash(),
      revision: count().describe("The revision that it has."),
      takenAt: timestamp().optional().describe("When it was taken."),
      verifiedAt: timestamp().optional().describe("When it was last restored and found right."),
      lostRevisions: count()
        .optional()
        .describe("Revisions that the operator has seen and that it has not; absent if it does not know."),
      lostSeconds: lostSeconds(),
    })
    .optional()
    .describe(
      "An alternative to the survivor: of the EtcdSnapshots of this cluster, the one with the highest revision. `kubectl etcd recover quorum <cluster> --plan <plan>` restores it in place.",
    ),
  pointInTime: z
    .strictObject({
      schedule: text(253).describe("Name of the EtcdSnapshotSchedule that recorded the changes."),
      plan: restorePlanHash(),
      revision: count().describe("The revision up to which they were recorded."),
      time: timestamp().optional().describe("Up to when."),
      lostRevisions: count()
        .optional()
        .describe("Revisions that the operator has seen and that it has not; absent if it does not know."),
      lostSeconds: lostSeconds(),
    })
    .optional()
    .describe(
      "An alternative to the survivor, if a schedule with incremental has recorded more than the newest EtcdSnapshot has: the snapshot of it is built and restored in place.",
    ),
  members: z
    .array(
      z.strictObject({
        name: text(63).describe("Name of the member."),
        data: z
          .enum(["Found", "Lost", "Unreachable"])
          .describe(
            "Whether it still has data of this cluster. Unreachable: its volume or its node is out of reach, so it is not known.",
          ),
        term: count().optional().describe("Raft term of the last entry of its log."),
        index: count().optional().describe("Raft index of the last entry of its log."),
      }),
    )
    .max(64)
    .meta({ "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"] })
    .describe("What each voting member still has."),
});

export const etcdClusterStatusSchema = z.strictObject({
  observedGeneration: int(-1, Number.MAX_SAFE_INTEGER)
    .optional()
    .describe(
      "The generation of the spec that this status is about; -1 until the operator has seen the cluster.",
    ),
  phase: z.enum(CLUSTER_PHASES).optional().describe("What the cluster is doing, in one word."),
  message: text(1024).optional().describe("The state of the cluster, in one sentence."),
  conditions: conditionsSchema
    .optional()
    .describe(
      `${CLUSTER_CONDITIONS.join(", ")}; ${BACKED_UP} where an EtcdSnapshotSchedule names the cluster.`,
    ),
  clusterID: text(20).optional().describe("Cluster ID in etcd, in hexadecimal."),
  leader: text(63).optional().describe("Name of the leader."),
  version: z
    .strictObject({
      current: text(32).optional().describe("The lowest etcd version that a member runs."),
      target: text(32).optional().describe("The version that is being rolled out."),
    })
    .optional()
    .describe("etcd versions."),
  replicas: count().optional().describe("Voting members that exist."),
  readyReplicas: count().optional().describe("Voting members that are healthy."),
  updatedReplicas: count().optional().describe("Voting members that run as the spec says."),
  selector: text(1024).optional().describe("Label selector of the voting members' Pods, for autoscalers."),
  endpoints: z.array(text(512)).max(32).optional().describe("Client URLs of the voters that are not fenced."),
  externalEndpoints: z
    .array(text(512))
    .max(16)
    .optional()
    .describe("Client URLs from outside: the addresses of the client Service's load balancer."),
  clientSecret: text(253).optional().describe("Secret (on a machine: directory) with a client certificate."),
  certificates: z
    .array(
      z.strictObject({
        name: text(128).describe(
          "Whose it is: a member and its plane, a CA, the operator's or the clients'.",
        ),
        expires: timestamp().describe("When it ends."),
      }),
    )
    .max(64)
    .optional()
    .meta({ "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"] })
    .describe("When each certificate ends that Quorate issues or copies, and when their CAs do."),
  members: z
    .array(memberStatusSchema)
    .max(64)
    .optional()
    .meta({ "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"] })
    .describe("The members as last seen."),
  revision: count()
    .optional()
    .describe("Highest revision seen of this cluster; it starts over when a person accepts older data."),
  quotaFullAt: timestamp()
    .optional()
    .describe(
      "When the database will reach its quota if its data keeps growing as in the last hours. Absent if it does not grow, if it has been seen for less than 15 minutes, or if that is more than 30 days away.",
    ),
  recovery: recoverySchema
    .optional()
    .describe(
      "Set if quorum is lost for good: how the cluster can be recovered from the data that is left, once a person approves it.",
    ),
  plan: z.array(planStepSchema).max(64).optional().describe("The next steps, in order."),
  approvals: z
    .array(approvalStatusSchema)
    .max(16)
    .optional()
    .meta({ "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["approval"] })
    .describe("What a person can approve now."),
  warnings: z
    .array(text(1024))
    .max(32)
    .optional()
    .meta({ "x-kubernetes-list-type": "atomic" })
    .describe(
      "Settings of the spec that are allowed but seldom meant, with the field; and warnings about the environment, such as clock skew.",
    ),
  notApplicable: z
    .array(text(256))
    .max(64)
    .optional()
    .meta({ "x-kubernetes-list-type": "set" })
    .describe("Fields of the spec that this platform cannot apply."),
});

export type MemberStatus = z.output<typeof memberStatusSchema>;
export type RecoveryStatus = z.output<typeof recoverySchema>;
export type PlanStep = z.output<typeof planStepSchema>;
export type EtcdClusterStatus = z.output<typeof etcdClusterStatusSchema>;
