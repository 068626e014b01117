/**
 * EtcdOperation: one task that runs once against one cluster, such as a defragmentation. Its spec never changes;
 * its status is the record of what was done, from which any controller continues.
 */
import { z } from "zod";
import { checksumSchema, NAMED_RULES, POINT_MEANING, sourceSchema } from "./bootstrap.ts";
import { encryptionSchema } from "./destination.ts";
import { CLUSTER_NAME_PATTERN, LONGEST_CLUSTER_NAME } from "./etcd-cluster.ts";
import { objectName } from "./labels.ts";
import { API_VERSION, conditionsSchema, metadataSchema, timestamp } from "./metadata.ts";
import { restorePointSchema } from "./point-in-time.ts";
import { withRules, type Rule } from "./rule.ts";
import { int, text } from "./scalars.ts";
import { OPERATION_PHASES, OPERATIONS, type OperationName } from "./status-words.ts";

const memberName = () => text(63).min(1);

const members = (meaning: string) =>
  z
    .array(memberName())
    .min(1)
    .max(64)
    .meta({ "x-kubernetes-list-type": "atomic" })
    .optional()
    .describe(meaning);

const withoutDuplicates: Rule<{ members?: string[] }> = {
  cel: "!has(self.members) || self.members.all(name, self.members.exists_one(other, other == name))",
  fieldPath: ".members",
  message: "names a member twice: list each member once",
  check: ({ members: named = [] }) => new Set(named).size === named.length,
};

const defragmentSchema = withRules(
  z.strictObject({
    members: members("Names of the voting members to defragment; all of them if absent."),
  }),
  withoutDuplicates,
);

type Compaction = { revision?: number; retain?: number };

const oneBound: Rule<Compaction> = {
  cel: "has(self.revision) != has(self.retain)",
  message:
    "set either revision or retain: revision compacts up to that revision, retain keeps that many of the newest ones",
  check: ({ revision, retain }) => (revision === undefined) !== (retain === undefined),
};

const compactSchema = withRules(
  z.strictObject({
    revision: int(1, Number.MAX_SAFE_INTEGER)
      .optional()
      .describe("Discards the history of keys up to this revision."),
    retain: int(0, Number.MAX_SAFE_INTEGER)
      .optional()
      .describe("Discards the history of keys but for this many of the newest revisions."),
  }),
  oneBound,
);

const restartSchema = withRules(
  z.strictObject({
    members: members("Names of the members to restart; all of them if absent."),
  }),
  withoutDuplicates,
);

const planHash: Rule<string> = {
  cel: "self.matches('^[0-9a-f]{16}$')",
  message:
    "must be the hash of a plan, 16 hexadecimal digits, as the status of the cluster or the message of the operation has it",
  check: (hash) => /^[0-9a-f]{16}$/.test(hash),
};

const MAX_NODES_OFF = 16;

const nodesOff = (more: string) =>
  z
    .array(text(253).min(1))
    .min(1)
    .max(MAX_NODES_OFF)
    .meta({ "x-kubernetes-list-type": "atomic" })
    .optional()
    .describe(
      `Names of nodes that you have made sure are off: their kubelets are silent, and a member may run there. Quorate does not wait for that member to stop, and cannot check that the node is off: if a member still runs there, it continues to serve the clients that reach it, and what they write is lost. ${more}`,
    );

const nodesOnce: Rule<{ nodesOff?: string[] | undefined }> = {
  cel: "!has(self.nodesOff) || self.nodesOff.all(name, self.nodesOff.exists_one(other, other == name))",
  fieldPath: ".nodesOff",
  message: "names a node twice: list each node once",
  check: ({ nodesOff: named = [] }) => new Set(named).size === named.length,
};

const recoverQuorumSchema = withRules(
  z.strictObject({
    approve: withRules(text(16), planHash).describe(
      "Hash of the plan in the status.recovery of the cluster.",
    ),
    nodesOff: nodesOff(
      "Exactly those of status.recovery.nodesOff; the operation is rejected with others, and ends without changing data if one of them reports again.",
    ),
  }),
  nodesOnce,
);

const restoreSchema = withRules(
  z.strictObject({
    snapshot: objectName()
      .optional()
      .describe(
        "Name of an EtcdSnapshot in the same namespace that has succeeded. Where it is, its checksum and its encryption key follow from it. Rejected on one machine.",
      ),
    source: sourceSchema.optional().describe("Where the snapshot is, if it is not that of an EtcdSnapshot."),
    pointInTime: restorePointSchema.optional().describe(POINT_MEANING),
    checksum: checksumSchema()
      .optional()
      .describe("SHA-256 of the plain snapshot, before compression and encryption."),
    encryption: encryptionSchema
      .optional()
      .describe(
        "The key of an encrypted snapshot; a snapshot that is not encrypted is then not restored. Rejected on one machine, where the key comes from QUORATE_SNAPSHOT_KEY.",
      ),
    recovery: withRules(text(16), planHash)
      .optional()
      .describe(
        "Hash of the plan in status.recovery of the cluster that this is an alternative to: if quorum has returned or what the members hold has changed before they are stopped, the operation ends and no data is changed.",
      ),
    nodesOff: nodesOff(
      "They are a part of the plan and its hash. The operation is rejected if others are silent, and ends without changing data if one of them reports again.",
    ),
    approve: withRules(text(16), planHash)
      .optional()
      .describe(
        "Hash of the plan, as the command `restore` shows it. Without it the operation is rejected, and its message has the plan with its hash.",
      ),
  }),
  ...NAMED_RULES,
  nodesOnce,
);

const notBoth: Rule<{ ca?: boolean | undefined; tokenKey?: boolean | undefined }> = {
  cel: "!(has(self.ca) && self.ca && has(self.tokenKey) && self.tokenKey)",
  message: "set either ca or tokenKey: each restarts the members on its own, so create two operations",
  check: ({ ca, tokenKey }) => !(ca && tokenKey),
};

const rotateSchema = withRules(
  z.strictObject({
    ca: z
      .boolean()
      .optional()
      .describe(
        "Rotates the CAs of the Managed planes as well: members trust the new CA beside the old one, then all certificates are issued by it, then the old one is dropped. Members restart twice, one at a time.",
      ),
    tokenKey: z
      .boolean()
      .optional()
      .describe(
        "Replaces the key that auth tokens of type JWT are signed with, and no certificate. Members restart once, one at a time; clients that log in by password log in again.",
      ),
  }),
  notBoth,
);

const operationFields = {
  defragment: defragmentSchema
    .optional()
    .describe(
      "Defragments members one at a time, followers first and the leader last, which returns free space to the file system. A member does not serve while it is defragmented.",
    ),
  compact: compactSchema
    .optional()
    .describe(
      "Compacts the history of keys, and returns when the compaction has been applied (a physical compaction).",
    ),
  moveLeader: z
    .strictObject({
      to: memberName()
        .optional()
        .describe("Name of the voting member that is to lead; the most caught-up healthy one if absent."),
    })
    .optional()
    .describe("Transfers leadership to another voting member."),
  replaceMember: z
    .strictObject({ name: memberName().describe("Name of the member to replace.") })
    .optional()
    .describe(
      "Replaces a member by a new one: the new member joins and is promoted, then the old one is removed. A member that is broken is removed first.",
    ),
  restart: restartSchema
    .optional()
    .describe(
      "Restarts members one at a time while the others keep quorum, the leader last. Members on Memory or Ephemeral storage, which would lose their data, are replaced instead.",
    ),
  recoverQuorum: recoverQuorumSchema
    .optional()
    .describe(
      "Recovers a cluster whose quorum is lost for good from the data of the member that has the newest log, as the plan of this hash in the status of the cluster says. Writes that only lost members had are lost. It is rejected if the plan has changed.",
    ),
  restore: restoreSchema
    .optional()
    .describe(
      "Replaces all data of a running cluster by a snapshot, if exactly this was approved. The snapshot is fetched and checked, then all members are stopped, the cluster starts again from the snapshot with a raised revision, and the other members are rebuilt. Everything written since the snapshot is lost; the former volumes are kept. Rejected where the data is in the Pods themselves (Memory, Ephemeral).",
    ),
  rotateCertificates: rotateSchema
    .optional()
    .describe(
      "Issues the certificates of all members, of the operator and of the users again, without a restart.",
    ),
  collectReport: z
    .strictObject({})
    .optional()
    .describe("Writes a summary of the cluster without secrets to status.report, for a bug report."),
} satisfies Record<OperationName, z.ZodType>;

const operationSpecFields = z.strictObject({
  cluster: text(LONGEST_CLUSTER_NAME).describe("Name of the EtcdCluster, in the same namespace."),
  ...operationFields,
  ttlSecondsAfterFinished: int(0, 2_147_483_647)
    .optional()
    .describe(
      "Deletes this EtcdOperation so many seconds after it has finished; it is kept if the field is absent.",
    ),
});

type OperationSpecFields = z.output<typeof operationSpecFields>;

const clusterIsNamed: Rule<OperationSpecFields> = {
  cel: `self.cluster.matches('${CLUSTER_NAME_PATTERN}')`,
  fieldPath: ".cluster",
  message:
    "must be the name of an EtcdCluster: lower-case letters, digits and dashes, starting with a letter and ending with a letter or digit",
  check: ({ cluster }) => new RegExp(CLUSTER_NAME_PATTERN).test(cluster),
};

const exactlyOne: Rule<OperationSpecFields> = {
  cel: `[${OPERATIONS.map((name) => `has(self.${name})`).join(", ")}].exists_one(given, given)`,
  message: `set exactly one of ${OPERATIONS.join(", ")}: create one EtcdOperation for each task`,
  check: (spec) => OPERATIONS.filter((name) => spec[name] !== undefined).length === 1,
};

const specIsKept: Rule<OperationSpecFields> = {
  cel: "self == oldSelf",
  message:
    "the spec of an EtcdOperation never changes, because it may already run: delete it and create another one",
  check: (spec, old) => old === undefined || sorted(spec) === sorted(old),
  transition: true,
};

/** The same text for the same values, in whatever order their fields are written. */
function sorted(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    typeof part === "object" && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}

const stepSchema = z.strictObject({
  at: timestamp().describe("When it was done."),
  message: text(1024).describe("What was done, as a sentence."),
  member: text(63).optional().describe("The member it concerns, if it concerns one."),
  failed: z.boolean().optional().describe("True for a member that was left out; the message says why."),
});

export const MAX_OPERATION_STEPS = 256;
export const MAX_REPORT_CHARACTERS = 131_072;

export const etcdOperationStatusSchema = z.strictObject({
  observedGeneration: int(-1, Number.MAX_SAFE_INTEGER)
    .optional()
    .describe("The generation of the spec that this status is about; -1 until the operator has seen it."),
  operation: z.enum(OPERATIONS).optional().describe("Which of the tasks it is, for the list."),
  phase: z
    .enum(OPERATION_PHASES)
    .optional()
    .describe(
      "Pending: it waits. Running: its steps are under way. Succeeded, Failed and Rejected are final; a rejected operation has changed nothing.",
    ),
  reason: text(64).optional().describe("Why it is in this phase: one word for machines."),
  message: text(1024).optional().describe("Why it is in this phase, as a sentence."),
  startedAt: timestamp().optional().describe("When its first step was taken."),
  completedAt: timestamp().optional().describe("When it succeeded, failed or was rejected."),
  steps: z
    .array(stepSchema)
    .max(MAX_OPERATION_STEPS)
    .meta({ "x-kubernetes-list-type": "atomic" })
    .optional()
    .describe("What was done, in order."),
  members: z
    .array(memberName())
    .max(64)
    .meta({ "x-kubernetes-list-type": "atomic" })
    .optional()
    .describe("The members that it acts on, as settled when it started."),
  revision: int(0, Number.MAX_SAFE_INTEGER)
    .optional()
    .describe(
      "The revision up to which it compacts, or the highest one that a restore has to pass, as settled when it started.",
    ),
  report: text(MAX_REPORT_CHARACTERS).optional().describe("The summary that collectReport made, as JSON."),
  conditions: conditionsSchema
    .optional()
    .describe(
      "Ready (it has succeeded), Reconciling (it waits or runs), Stalled (it failed or was rejected).",
    ),
});

export const etcdOperationSchema = z.strictObject({
  apiVersion: z.literal(API_VERSION),
  kind: z.literal("EtcdOperation"),
  metadata: metadataSchema,
  spec: withRules(operationSpecFields, clusterIsNamed, exactlyOne, specIsKept).describe(
    "The task. It never changes.",
  ),
  // Until the operator has written a status, nothing may take the operation for finished (kstatus would).
  status: etcdOperationStatusSchema
    .optional()
    .meta({ default: { observedGeneration: -1 } })
    .describe("Phase, steps and result of the task."),
});

export type EtcdOperationSpec = z.output<typeof operationSpecFields>;
export type EtcdOperationStatus = z.output<typeof etcdOperationStatusSchema>;
export type EtcdOperation = z.output<typeof etcdOperationSchema>;
