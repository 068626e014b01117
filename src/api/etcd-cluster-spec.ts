/**
 * The spec of a cluster: all fields in one place, each concern in its own file, and the rules that
 * look at several concerns at once.
 */
import { z } from "zod";
import { authSchema } from "./auth.ts";
import { adoptOrRestore } from "./adopt.ts";
import { bootstrapSchema, bumpFrom3510, restoreFrom35 } from "./bootstrap.ts";
import { commonAnnotations, commonLabels, objectName } from "./labels.ts";
import { networkPolicySchema } from "./network-policy.ts";
import { optionsSchema, quotaFitsVolume } from "./options.ts";
import { podSchema } from "./pod.ts";
import { withRules, type Rule } from "./rule.ts";
import { int, text } from "./scalars.ts";
import { serviceSchema } from "./service.ts";
import { noHibernationOfVolatileData, storageSchema } from "./storage.ts";
import { planeMode, tlsSchema, type TLS } from "./tls.ts";
import { maintenanceSchema, recoverySchema, repairSchema, updateSchema } from "./upkeep.ts";

const replicasInRange: Rule<number> = {
  cel: "self >= 0 && self <= 9",
  message:
    "replicas must be between 0 and 9: 3 or 5 voting members suit most clusters, more make every write slower, 0 hibernates; for more readers use learners",
  check: (replicas) => replicas >= 0 && replicas <= 9,
};

/** H1: `--max-learners` is one constant on all members; it has room for these and two that join. */
const learnersInRange: Rule<number> = {
  cel: "self >= 0 && self <= 8",
  message: "learners must be between 0 and 8: the leader replicates to each of them",
  check: (learners) => learners >= 0 && learners <= 8,
};

const versionFormat: Rule<string> = {
  cel: "self.matches('^3\\\\.[0-9]{1,2}\\\\.[0-9]{1,3}$')",
  message: "version must be an etcd release with major, minor and patch and without a leading v, like 3.6.16",
  check: (version) => /^3\.[0-9]{1,2}\.[0-9]{1,3}$/.test(version),
};

const digestFormat: Rule<string> = {
  cel: "self.matches('^sha256:[0-9a-f]{64}$')",
  message: "digest must be the image's digest as registries print it: sha256: and 64 hexadecimal digits",
  check: (digest) => /^sha256:[0-9a-f]{64}$/.test(digest),
};

export const repositoryFormat: Rule<string> = {
  cel: "self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?(:[0-9]+)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*$')",
  message:
    "repository must be an image name without tag and digest, like gcr.io/etcd-development/etcd: the tag comes from version, a digest goes into image.digest",
  check: (name) => /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?(:[0-9]+)?(\/[a-z0-9]+([._-]+[a-z0-9]+)*)*$/.test(name),
};

/** Where the etcd project publishes its images. */
export const IMAGE_REPOSITORY = "gcr.io/etcd-development/etcd";

const imageSchema = z.strictObject({
  repository: withRules(text(255), repositoryFormat).default(IMAGE_REPOSITORY).meta({
    defaultOf: "operator",
    description:
      "Image name without a tag; the tag is v<version>. Defaults to that of the operator's option --etcd-image-repository, which defaults to gcr.io/etcd-development/etcd.",
  }),
  digest: withRules(text(71), digestFormat)
    .optional()
    .describe("Digest that pins the image of this version. Change it together with version."),
  pullPolicy: z
    .enum(["IfNotPresent", "Always", "Never"])
    .default("IfNotPresent")
    .describe("When nodes pull the image."),
  pullSecrets: z
    .array(objectName())
    .max(16)
    .default([])
    .meta({ "x-kubernetes-list-type": "set" })
    .describe("Names of Secrets with registry credentials."),
});

// Without defaults of the resource definition, which an operator from before these fields would find and reject.
const commonMetadataSchema = z.strictObject({
  labels: commonLabels().optional().describe("Additional labels."),
  annotations: commonAnnotations().optional().describe("Additional annotations."),
});

const specFields = z.strictObject({
  replicas: withRules(z.int(), replicasInRange)
    .default(3)
    .describe(
      "Number of voting members. 0 hibernates the cluster: all members stop and all data is retained. An even size tolerates no more failures than the odd size below it.",
    ),
  version: withRules(text(16), versionFormat).describe(
    "The etcd version. A change starts a rolling upgrade, or a downgrade where etcd supports it, one minor version at a time.",
  ),
  image: imageSchema.prefault({}).meta({
    kubernetesOnly: "warn",
    description: "Where the etcd image comes from.",
  }),
  learners: withRules(z.int(), learnersInRange)
    .default(0)
    .describe(
      "Number of permanent learners: members without a vote that serve serializable reads. At most 1 before etcd 3.6.",
    ),
  storage: storageSchema.prefault({}).describe("Where members keep their data."),
  tls: tlsSchema.prefault({}).describe("Encryption and client authentication."),
  bootstrap: bootstrapSchema
    .optional()
    .describe(
      "What the cluster starts with, if not empty. Read once: it can be changed until the cluster has started, and has no effect afterwards.",
    ),
  // Without a default: absent means that nobody asked for it either way.
  auth: authSchema
    .optional()
    .describe(
      "etcd's own authentication. Absent: it is neither enabled nor disabled, and what an administrator set up by hand is left alone.",
    ),
  options: optionsSchema.prefault({}).describe("etcd settings."),
  pod: podSchema.prefault({}).meta({ kubernetesOnly: "warn", description: "Settings of the members' Pods." }),
  service: serviceSchema.prefault({}).meta({ kubernetesOnly: "warn", description: "The client Service." }),
  // Without a default: an operator from before this field would find and reject it.
  networkPolicy: networkPolicySchema
    .optional()
    .meta({ kubernetesOnly: "warn", description: "Who may connect to the members. All by default." }),
  metadata: commonMetadataSchema.optional().meta({
    kubernetesOnly: "warn",
    description:
      "Labels and annotations for every object of the cluster: Pods, PersistentVolumeClaims, Services, Secrets, EtcdMembers, the PodDisruptionBudget and the NetworkPolicy. Changed in place, without a restart. Keys of pod and service take precedence on Pods and on the client Service.",
  }),
  disruptionBudget: z
    .strictObject({ enabled: z.boolean().default(true).describe("Whether to create a PodDisruptionBudget.") })
    .prefault({})
    .meta({
      kubernetesOnly: "warn",
      description: "Protects the quorum of voting members from node drains.",
    }),
  maintenance: maintenanceSchema
    .prefault({})
    .describe("Defragmentation, consistency checks and recovery from a full database."),
  repair: repairSchema.prefault({}).describe("When an unhealthy member is replaced."),
  recovery: recoverySchema.optional().describe("What happens when quorum is lost for good."),
  update: updateSchema.prefault({}).describe("How changes are rolled out."),
  paused: z
    .boolean()
    .default(false)
    .describe("Stop changing anything in this cluster, including repairs. The status is still updated."),
  progressDeadlineSeconds: int(1, 86_400)
    .default(600)
    .describe("Time without progress after which Stalled becomes True. The operator continues its work."),
});

type SpecFields = z.output<typeof specFields>;

/** H8: before 3.6 etcd admits one learner, and joining members need that place too. */
const oneLearnerBefore36: Rule<SpecFields> = {
  cel: "self.learners <= 1 || !self.version.matches('^3\\\\.[0-5]\\\\.')",
  fieldPath: ".learners",
  message: "etcd before 3.6 accepts one learner at a time: set learners to 0 or 1, or upgrade to 3.6 first",
  check: (spec) => spec.learners <= 1 || !/^3\.[0-5]\./.test(spec.version),
};

const featureGatesFrom36: Rule<SpecFields> = {
  cel: "size(self.options.featureGates) == 0 || !self.version.matches('^3\\\\.[0-5]\\\\.')",
  fieldPath: ".options.featureGates",
  message: "etcd supports feature gates since 3.6: remove options.featureGates, or upgrade first",
  check: (spec) => Object.keys(spec.options.featureGates).length === 0 || !/^3\.[0-5]\./.test(spec.version),
};

/** Before 3.5 etcd does not tell whether auth is on, and a rolling upgrade to 3.5 with auth on is not supported (R11). */
const authFrom35: Rule<SpecFields> = {
  cel: "!has(self.auth) || !self.auth.enabled || !self.version.matches('^3\\\\.[0-4]\\\\.')",
  fieldPath: ".auth.enabled",
  message: "auth needs etcd 3.5 or newer, because etcd does not support upgrades from 3.4 with auth enabled",
  check: (spec) => spec.auth?.enabled !== true || !/^3\.[0-4]\./.test(spec.version),
};

const clientMode = (tls: TLS) => tls.client?.mode ?? tls.mode;

/** What a user's name is read from would change under those who are logged in, the operator among them (R40). */
const clientTLSIsKeptWithAuth: Rule<SpecFields> = {
  cel: `(self.tls.clientAuth == oldSelf.tls.clientAuth && ${planeMode("self.tls", "client")} == ${planeMode("oldSelf.tls", "client")}) || !((has(self.auth) && self.auth.enabled) || (has(oldSelf.auth) && oldSelf.auth.enabled))`,
  transition: true,
  fieldPath: ".tls",
  message:
    "tls.clientAuth and the TLS mode of clients cannot be changed while auth is enabled: set auth.enabled to false first, and enable it again afterwards",
  check: (spec, old) =>
    old === undefined ||
    (spec.tls.clientAuth === old.tls.clientAuth && clientMode(spec.tls) === clientMode(old.tls)) ||
    (spec.auth?.enabled !== true && old.auth?.enabled !== true),
};

const digestFollowsVersion: Rule<SpecFields> = {
  cel: "self.version == oldSelf.version || !has(self.image.digest) || !has(oldSelf.image.digest) || self.image.digest != oldSelf.image.digest",
  transition: true,
  fieldPath: ".image.digest",
  message:
    "image.digest still pins the image of the previous version: change it together with version, or remove it",
  check: (spec, old) =>
    old === undefined ||
    spec.version === old.version ||
    spec.image.digest === undefined ||
    spec.image.digest !== old.image.digest,
};

export const etcdClusterSpecSchema = withRules(
  specFields,
  noHibernationOfVolatileData,
  oneLearnerBefore36,
  featureGatesFrom36,
  authFrom35,
  clientTLSIsKeptWithAuth,
  quotaFitsVolume,
  digestFollowsVersion,
  restoreFrom35,
  bumpFrom3510,
  adoptOrRestore,
);

export type CommonMetadata = z.output<typeof commonMetadataSchema>;
export type Image = z.output<typeof imageSchema>;
/** A spec with all defaults filled in, as everything but the parser sees it. */
export type EtcdClusterSpec = z.output<typeof etcdClusterSpecSchema>;
/** A spec as a person writes it. */
export type EtcdClusterSpecInput = z.input<typeof etcdClusterSpecSchema>;
