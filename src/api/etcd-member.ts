/**
 * EtcdMember: the durable record of one member, made by the operator. It holds who the member is, how it
 * starts, the whole rendered template that it runs with, and what is to become of it, so that any operator
 * can go on from the objects alone. On one machine the same record is a file.
 */
import { z } from "zod";
import type { TokenSpec } from "./auth.ts";
import type { RestoreRecipe } from "./bootstrap.ts";
import type { Image } from "./etcd-cluster-spec.ts";
import { API_VERSION, conditionsSchema, metadataSchema, type Metadata } from "./metadata.ts";
import type { EtcdOptions } from "./options.ts";
import type { Pod } from "./pod.ts";
import { withRules, type Rule } from "./rule.ts";
import { int, text } from "./scalars.ts";
import { MEMBER_PHASES } from "./status-words.ts";
import type { Storage } from "./storage.ts";
import type { TLS } from "./tls.ts";

/** What of the spec a member is started with, and what of its planes the spec alone does not say. */
export type TemplateTLS = Omit<TLS, "rotation" | "transition"> & { readonly effective?: EffectiveTLS };

/** Absent where the spec says it all: a plane that trusts the only CA it ever had. */
export interface EffectiveTLS {
  readonly client?: EffectiveClientPlane;
  readonly peer?: EffectivePeerPlane;
}

export interface EffectivePlane {
  /** The CAs that the member trusts, the older one first, by their short fingerprints: etcd reads them at its start only (R45). */
  readonly trust?: readonly string[];
}

export interface EffectiveClientPlane extends EffectivePlane {
  /** Both on one port, while clients change from one to the other (R50). Absent: the one of the mode. */
  readonly listen?: readonly ["http", "https"];
  /** With both, the one that clients came by before: those that follow the member list change last. */
  readonly advertise?: "http" | "https";
}

export interface EffectivePeerPlane extends EffectivePlane {
  /**
   * It listens for peers in plaintext, although it has certificates to dial others with: on the way from plaintext to TLS,
   * or back (R52). Absent: the one of the mode.
   */
  readonly listen?: "http";
}

/** The tokens of etcd's authentication. When their key is replaced changes no member. */
export interface TemplateToken extends Pick<TokenSpec, "type" | "ttl"> {
  /** The number of the key that the member signs with, which it reads at its start only (R53). Absent: the first. */
  readonly key?: number;
}

/** All that a member's workload is made from. Frozen in the record: an edited spec changes nobody's template. */
export interface MemberTemplate {
  readonly version: string;
  readonly image: Image;
  readonly options: EtcdOptions;
  readonly storage: Omit<Storage, "retention" | "volumeMode" | "adopt">;
  readonly tls: TemplateTLS;
  readonly pod: Pod;
  /** Absent where they are etcd's default. */
  readonly auth?: { readonly token: TemplateToken };
  /** Which generation of our own rendering made this; a newer operator keeps rendering the old one. */
  readonly renderVersion: number;
}

/**
 * Opaque to the API server on purpose: defaults and pruning of a newer resource definition must not
 * reach into records that describe what already runs.
 */
const templateSchema = z
  .looseObject({
    version: text(16).describe("The etcd version."),
    renderVersion: int(1, 1_000_000).describe("Version of the rendering that produced it."),
  })
  .describe(
    "What its process or Pod is rendered from: version, image, options, storage, tls and pod of the cluster's spec. Only a rollout changes it.",
  ) as unknown as z.ZodType<MemberTemplate, MemberTemplate>;

/** Opaque for the same reason. */
const recipeSchema = z
  .looseObject({})
  .describe(
    "Set on the first member of a cluster that starts from a snapshot: spec.bootstrap.restore of the cluster. The member starts only with data that was restored from it.",
  ) as unknown as z.ZodType<RestoreRecipe, RestoreRecipe>;

const url = (meaning: string) => text(512).describe(meaning);

const addressSchema = z.strictObject({
  peerURL: url("URL at which other members reach it."),
  clientURL: url("URL at which clients reach it."),
  metricsURL: url("URL of its metrics and health checks."),
  listenPeerURL: url("Where it listens for other members."),
  listenClientURL: url("Where it listens for clients."),
  listenMetricsURL: url("Where it listens for metrics and health checks."),
  peerIPs: z
    .array(text(45))
    .max(2)
    .meta({ "x-kubernetes-list-type": "atomic" })
    .optional()
    .describe(
      "The cluster IPs of the Service that the peer URL names. If the Service is deleted, it is recreated with these. Empty if the API server rejected the Service; the peer URL is then the DNS name of the Pod.",
    ),
});

const initialPeerSchema = z.strictObject({
  name: text(63).describe("Name of the member."),
  peerURL: url("Its peer URL."),
});

const roleSchema = z.enum(["Voter", "Learner"]);

const reason = () => text(1024).describe("Why, as a sentence.");

const exactlyOne: Rule<number> = {
  cel: "self == 1",
  message:
    "an EtcdMember is exactly one member: scale its EtcdCluster instead, or delete the EtcdMember to replace the member",
  check: (replicas) => replicas === 1,
};

const memberSpecFields = z.strictObject({
  // For the scale subresource alone, which needs it to be there: the API server fills it in, also in older records.
  replicas: withRules(z.int(), exactlyOne)
    .optional()
    .meta({ default: 1 })
    .describe(
      "Always 1. The scale subresource shows it, so that a VerticalPodAutoscaler can target the member.",
    ),
  cluster: text(40).describe("Name of the EtcdCluster."),
  ordinal: int(1, 999_999_999).describe("The number in its name; never reused."),
  role: roleSchema.describe("The role it gets. A voter also joins as a learner first."),
  token: text(128).describe(
    "The cluster token: the UID of the EtcdCluster and a counter, unique to each bootstrap.",
  ),
  boot: z
    .enum(["New", "Join"])
    .describe(
      "How it starts on an empty volume: New bootstraps the cluster together with the other first members, Join joins it.",
    ),
  address: addressSchema.describe(
    "The addresses it listens on and advertises. They differ if there is a proxy between members.",
  ),
  restore: recipeSchema.optional(),
  initialCluster: z
    .array(initialPeerSchema)
    .max(64)
    .meta({ "x-kubernetes-list-type": "atomic" })
    .describe("The first members of the cluster; for a joining member, the member list when it is started."),
  memberID: text(16)
    .optional()
    .describe("Its member ID in etcd, in hexadecimal, once known. Immutable once it has joined."),
  volumeUID: text(64)
    .optional()
    .describe("UID of the volume on which it may start. It never uses another one."),
  joined: z
    .boolean()
    .describe(
      "True once it was seen serving in its cluster; never reset. From then on its configuration lists only itself, so it cannot start with an empty volume.",
    ),
  run: z.boolean().describe("False while hibernated: nothing runs, and the volume is retained."),
  template: templateSchema,
  restart: text(64)
    .optional()
    .describe(
      "UID of the EtcdOperation that last restarted it: its workload is recreated once when this changes.",
    ),
  retiring: z
    .strictObject({
      reason: reason(),
      requested: z
        .boolean()
        .optional()
        .describe("An EtcdOperation asked for it, so it is replaced even if the template matches the spec."),
    })
    .optional()
    .describe("Set when a new member is to replace it while it still serves."),
  leaving: z
    .strictObject({
      reason: reason(),
      volume: z.enum(["Delete", "Retain"]).describe("What happens to its volume."),
      broken: z
        .boolean()
        .optional()
        .describe(
          "It was removed because it was broken, which counts against repair.maxReplacementsPerHour.",
        ),
    })
    .optional()
    .describe("Set before it is removed from etcd and then deleted. Never withdrawn."),
});

type MemberSpecFields = z.output<typeof memberSpecFields>;

const transition = (rule: Omit<Rule<MemberSpecFields>, "transition">): Rule<MemberSpecFields> => ({
  ...rule,
  transition: true,
});

const REPLACE_IT = "to replace the member, delete its EtcdMember";

const identityFields = ["cluster", "ordinal", "token", "boot", "address"] as const;

const identityIsKept = transition({
  cel: identityFields.map((field) => `self.${field} == oldSelf.${field}`).join(" && "),
  message: `the identity of a member never changes (${identityFields.join(", ")}): ${REPLACE_IT}`,
  check: (spec, old) =>
    old === undefined ||
    identityFields.every((field) =>
      field === "address" ? sameAddress(spec.address, old.address) : spec[field] === old[field],
    ),
});

function sameAddress(a: MemberAddress, b: MemberAddress): boolean {
  return (Object.keys(addressSchema.shape) as (keyof MemberAddress)[]).every(
    (key) => String(a[key]) === String(b[key]),
  );
}

const memberIDIsKept = transition({
  cel: "!oldSelf.joined || !has(oldSelf.memberID) || (has(self.memberID) && self.memberID == oldSelf.memberID)",
  fieldPath: ".memberID",
  message: `the ID of a member that has joined never changes: ${REPLACE_IT}`,
  check: (spec, old) =>
    old === undefined || !old.joined || old.memberID === undefined || spec.memberID === old.memberID,
});

const latchStaysShut = transition({
  cel: "!oldSelf.joined || self.joined",
  fieldPath: ".joined",
  message: `a member that has joined stays joined: ${REPLACE_IT}`,
  check: (spec, old) => old === undefined || !old.joined || spec.joined,
});

const votersStayVoters = transition({
  cel: "oldSelf.role == 'Learner' || self.role == 'Voter'",
  fieldPath: ".role",
  message: `etcd cannot turn a voter into a learner: ${REPLACE_IT}`,
  check: (spec, old) => old === undefined || old.role === "Learner" || spec.role === "Voter",
});

const volumeIsKept = transition({
  cel: "!has(oldSelf.volumeUID) || (has(self.volumeUID) && self.volumeUID == oldSelf.volumeUID)",
  fieldPath: ".volumeUID",
  message: `a member never changes its volume: ${REPLACE_IT}`,
  check: (spec, old) => old === undefined || old.volumeUID === undefined || spec.volumeUID === old.volumeUID,
});

const leavingIsFinal = transition({
  cel: "!has(oldSelf.leaving) || has(self.leaving)",
  fieldPath: ".leaving",
  message:
    "a member that is leaving may already have been removed from etcd and cannot stay: raise replicas to add another one",
  check: (spec, old) => old === undefined || old.leaving === undefined || spec.leaving !== undefined,
});

const nameFollowsCluster: Rule<{ metadata: Metadata; spec: MemberSpecFields }> = {
  cel: "self.metadata.name.startsWith(self.spec.cluster + '-') && self.metadata.name.substring(size(self.spec.cluster) + 1) == string(self.spec.ordinal)",
  fieldPath: ".metadata.name",
  message:
    "an EtcdMember must be named <cluster>-<ordinal>: Quorate creates these records itself, so change the EtcdCluster instead",
  check: ({ metadata, spec }) => metadata.name === `${spec.cluster}-${spec.ordinal}`,
};

const amounts = () => z.record(z.string(), text(64)).meta({ maxProperties: 32 }).optional();

export const etcdMemberStatusSchema = z.strictObject({
  observedGeneration: int(0, Number.MAX_SAFE_INTEGER)
    .optional()
    .describe("The generation of the record that this status is about."),
  phase: z.enum(MEMBER_PHASES).optional().describe("The state of the member, in one word."),
  message: text(1024).optional().describe("The state of the member, in one sentence."),
  memberID: text(16).optional().describe("Its ID in etcd, in hexadecimal."),
  role: z.enum(["Leader", "Follower", "Learner", "Unknown"]).optional().describe("What it is in etcd."),
  replicas: int(0, 1).optional().describe("1 while the member has a Pod, for the scale subresource."),
  selector: text(512).optional().describe("Selects the Pod of the member, for the scale subresource."),
  resources: z
    .strictObject({
      requests: amounts().describe("What its node has set aside for it."),
      limits: amounts().describe("What it may use at most."),
    })
    .optional()
    .describe(
      "Resources of its etcd container, where they are not those of the record: an autoscaler, a LimitRange or a person changed them. They stay until pod.resources of the EtcdCluster changes.",
    ),
  conditions: conditionsSchema.optional().describe("Condition Ready, with the reason if it is False."),
});

export const etcdMemberSchema = withRules(
  z.strictObject({
    apiVersion: z.literal(API_VERSION),
    kind: z.literal("EtcdMember"),
    metadata: metadataSchema,
    spec: withRules(
      memberSpecFields,
      identityIsKept,
      memberIDIsKept,
      latchStaysShut,
      votersStayVoters,
      volumeIsKept,
      leavingIsFinal,
    ).describe("What Quorate has recorded about the member."),
    status: etcdMemberStatusSchema.optional().describe("The observed state of the member."),
  }),
  nameFollowsCluster,
);

/** Where a member listens, and what it tells others. The two differ when a proxy stands between members. */
export type MemberAddress = Readonly<z.output<typeof addressSchema>>;
/** One `name=peerURL` of etcd's `--initial-cluster`. */
export type InitialPeer = Readonly<z.output<typeof initialPeerSchema>>;
export type MemberRole = z.output<typeof roleSchema>;
export type EtcdMemberSpec = z.output<typeof memberSpecFields>;
export type EtcdMemberStatus = z.output<typeof etcdMemberStatusSchema>;
export type EtcdMember = z.output<typeof etcdMemberSchema>;
