/**
 * EtcdMember: the durable record of one member, made by the operator. It holds the member's identity,
 * the whole rendered template that it runs with, and the intent of a membership change under way, so
 * that any operator can go on from the objects alone. On one machine the same record is a file.
 */
import { z } from "zod";
import type { Image } from "./etcd-cluster-spec.ts";
import { API_VERSION, conditionsSchema, metadataSchema, timestamp, type Metadata } from "./metadata.ts";
import type { EtcdOptions } from "./options.ts";
import type { Pod } from "./pod.ts";
import { withRules, type Rule } from "./rule.ts";
import { int, text } from "./scalars.ts";
import type { Storage } from "./storage.ts";
import type { TLSMode } from "./tls.ts";

/** Everything that a member's process, Pod and volume are rendered from. Never a hash of it. */
export interface MemberTemplate {
  /** Which generation of the renderer wrote it: a newer operator goes on rendering the old one (no restarts). */
  renderVersion: number;
  version: string;
  image: Image;
  options: EtcdOptions;
  storage: Storage;
  tls: { client: TLSMode; peer: TLSMode; clientAuth: "Required" | "None"; extraSANs: string[] };
  pod: Pod;
}

/**
 * Opaque to the API server on purpose: defaults and pruning of a newer resource definition must not
 * reach into records that describe what already runs.
 */
const templateSchema = z
  .looseObject({
    renderVersion: int(1, 1_000_000).describe("Which generation of the renderer wrote it."),
    version: text(16).describe("The etcd version."),
  })
  .describe("The whole rendered template of the member.") as unknown as z.ZodType<
  MemberTemplate,
  MemberTemplate
>;

const peerSchema = z.strictObject({
  name: text(63).describe("Name of the member."),
  peerURL: text(512).describe("Its advertised peer URL."),
});

const identitySchema = z.strictObject({
  token: text(128).describe("Token of this life of the cluster: its UID and a counter (R5, H11)."),
  boot: z.enum(["New", "Join"]).describe("How its first start is done: with a new cluster, or joining one."),
  initialCluster: z
    .array(peerSchema)
    .max(64)
    .meta({ "x-kubernetes-list-type": "atomic" })
    .describe("The members that its first start is told of."),
  peerURL: text(512).describe("Its advertised peer URL."),
  clientURL: text(512).describe("Its advertised client URL."),
  ports: z
    .strictObject({ client: int(1, 65_535), peer: int(1, 65_535), metrics: int(1, 65_535) })
    .optional()
    .describe("Its ports, where members share a machine."),
  volume: z
    .strictObject({ name: text(253), uid: text(64) })
    .optional()
    .describe("The volume that its first start was given (H2)."),
});

const intentSchema = z.strictObject({
  kind: z.enum(["Add", "Promote", "Remove"]).describe("The membership call that is about to be made."),
  memberID: text(20).optional().describe("Its target, in hexadecimal."),
  peerURL: text(512).describe("Its target's peer URL."),
  at: timestamp().describe("When it was decided."),
});

const memberSpecFields = z.strictObject({
  cluster: text(40).describe("Name of the EtcdCluster."),
  ordinal: int(0, 1_000_000_000).describe("The number in its name; never used twice."),
  role: z.enum(["Voter", "Learner"]).describe("What it is meant to be in etcd."),
  identity: identitySchema.describe("Who it is in etcd, and how it starts for the first time."),
  template: templateSchema,
  joined: z
    .boolean()
    .describe(
      "The latch: true once it was seen as a member, and never false again. From then on it starts with itself only (I3, I4).",
    ),
  intent: intentSchema.optional().describe("The membership change under way, written before the call (H10)."),
  stop: z.boolean().optional().describe("Whether it is stopped, as in hibernation."),
});

type MemberSpecFields = z.output<typeof memberSpecFields>;

const transition = (rule: Omit<Rule<MemberSpecFields>, "transition">): Rule<MemberSpecFields> => ({
  ...rule,
  transition: true,
});

const identityIsKept = transition({
  cel: "self.cluster == oldSelf.cluster && self.ordinal == oldSelf.ordinal && self.identity.token == oldSelf.identity.token && self.identity.boot == oldSelf.identity.boot && self.identity.peerURL == oldSelf.identity.peerURL",
  message:
    "the identity of a member never changes (cluster, ordinal, token, boot, peer URL): to replace a member, delete its EtcdMember and Quorate makes another",
  check: (spec, old) =>
    old === undefined ||
    (spec.cluster === old.cluster &&
      spec.ordinal === old.ordinal &&
      spec.identity.token === old.identity.token &&
      spec.identity.boot === old.identity.boot &&
      spec.identity.peerURL === old.identity.peerURL),
});

const latchStaysShut = transition({
  cel: "!oldSelf.joined || self.joined",
  fieldPath: ".joined",
  message:
    "a member that has joined stays joined: to replace it, delete its EtcdMember and Quorate makes another",
  check: (spec, old) => old === undefined || !old.joined || spec.joined,
});

const votersStayVoters = transition({
  cel: "oldSelf.role == 'Learner' || self.role == 'Voter'",
  fieldPath: ".role",
  message: "etcd cannot turn a voter into a learner: delete its EtcdMember and Quorate makes another",
  check: (spec, old) => old === undefined || old.role === "Learner" || spec.role === "Voter",
});

const volumeIsKept = transition({
  cel: "!has(oldSelf.identity.volume) || (has(self.identity.volume) && self.identity.volume == oldSelf.identity.volume)",
  fieldPath: ".identity.volume",
  message:
    "a member keeps the volume of its first start: to replace it, delete its EtcdMember and Quorate makes another",
  check: (spec, old) => {
    const [now, before] = [spec.identity.volume, old?.identity.volume];
    return before === undefined || (now !== undefined && now.name === before.name && now.uid === before.uid);
  },
});

const nameFollowsCluster: Rule<{ metadata: Metadata; spec: MemberSpecFields }> = {
  cel: "self.metadata.name.startsWith(self.spec.cluster + '-') && self.metadata.name.substring(size(self.spec.cluster) + 1) == string(self.spec.ordinal)",
  fieldPath: ".metadata.name",
  message:
    "an EtcdMember is named <cluster>-<ordinal>; Quorate makes these records itself, change the EtcdCluster instead",
  check: ({ metadata, spec }) => metadata.name === `${spec.cluster}-${spec.ordinal}`,
};

export const etcdMemberStatusSchema = z.strictObject({
  phase: text(1024).optional().describe("How the member is, in one sentence."),
  memberID: text(20).optional().describe("Its ID in etcd, in hexadecimal."),
  role: z.enum(["Leader", "Follower", "Learner", "Unknown"]).optional().describe("What it is in etcd."),
  conditions: conditionsSchema.optional().describe("Ready, and what stands in its way."),
});

export const etcdMemberSchema = withRules(
  z.strictObject({
    apiVersion: z.literal(API_VERSION),
    kind: z.literal("EtcdMember"),
    metadata: metadataSchema,
    spec: withRules(
      memberSpecFields,
      identityIsKept,
      latchStaysShut,
      votersStayVoters,
      volumeIsKept,
    ).describe("The record of the member."),
    status: etcdMemberStatusSchema.optional().describe("The member as it is."),
  }),
  nameFollowsCluster,
);

export type MemberPeer = z.output<typeof peerSchema>;
export type MemberIdentity = z.output<typeof identitySchema>;
export type MemberIntent = z.output<typeof intentSchema>;
export type EtcdMemberSpec = z.output<typeof memberSpecFields>;
export type EtcdMemberStatus = z.output<typeof etcdMemberStatusSchema>;
export type EtcdMember = z.output<typeof etcdMemberSchema>;
