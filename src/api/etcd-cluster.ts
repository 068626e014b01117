/**
 * EtcdCluster: one etcd cluster, wanted (`spec`) and found (`status`).
 */
import { z } from "zod";
import { etcdClusterSpecSchema } from "./etcd-cluster-spec.ts";
import { etcdClusterStatusSchema } from "./etcd-cluster-status.ts";
import { API_VERSION, metadataSchema, type Metadata } from "./metadata.ts";
import { withRules, type Rule } from "./rule.ts";

export const CLUSTER_NAME_PATTERN = "^[a-z]([-a-z0-9]*[a-z0-9])?$";

/** Members, Services, Secrets and label values are named `<cluster>-…` and may have 63 characters. */
export const LONGEST_CLUSTER_NAME = 40;

const nameBecomesService: Rule<{ metadata: Metadata }> = {
  cel: `self.metadata.name.matches('${CLUSTER_NAME_PATTERN}')`,
  fieldPath: ".metadata.name",
  message:
    "metadata.name becomes the name of Services: use lower-case letters, digits and dashes, starting with a letter and ending with a letter or digit",
  check: ({ metadata }) => new RegExp(CLUSTER_NAME_PATTERN).test(metadata.name),
};

const nameIsShort: Rule<{ metadata: Metadata }> = {
  cel: `size(self.metadata.name) <= ${LONGEST_CLUSTER_NAME}`,
  fieldPath: ".metadata.name",
  message: `metadata.name may have at most ${LONGEST_CLUSTER_NAME} characters: the names of members and Services are derived from it, so choose a shorter one`,
  check: ({ metadata }) => metadata.name.length <= LONGEST_CLUSTER_NAME,
};

export const etcdClusterSchema = withRules(
  z.strictObject({
    apiVersion: z.literal(API_VERSION),
    kind: z.literal("EtcdCluster"),
    metadata: metadataSchema,
    spec: etcdClusterSpecSchema.describe("The desired state of the cluster."),
    // Until the operator has written a status, nothing may take the cluster for finished (kstatus would).
    status: etcdClusterStatusSchema
      .optional()
      .meta({ default: { observedGeneration: -1 } })
      .describe("The observed state of the cluster."),
  }),
  nameBecomesService,
  nameIsShort,
);

export type EtcdCluster = z.output<typeof etcdClusterSchema>;
export type EtcdClusterInput = z.input<typeof etcdClusterSchema>;
