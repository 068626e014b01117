/**
 * The Pods of the members: resources, scheduling, security, metadata, company. All of it is
 * Kubernetes' business; a change rolls the members one at a time, except for labels and
 * annotations, which are applied in place, and for resources where the server can do the same.
 */
import { z } from "zod";
import { affinitySchema, tolerationSchema, topologySpreadConstraintSchema } from "./affinity.ts";
import { computeResourcesSchema } from "./compute.ts";
import { envSchema } from "./environment.ts";
import { annotationsSchema, labelSelectorMap, labelsSchema, objectName } from "./labels.ts";
import { int } from "./scalars.ts";
import { securityContextSchema } from "./security-context.ts";
import { sidecarsSchema } from "./sidecars.ts";

export const podSchema = z.strictObject({
  resources: computeResourcesSchema
    .default({ requests: { cpu: "100m", memory: "256Mi" } })
    .describe(
      "Resources of the etcd container. A change is applied without a restart where Kubernetes supports in-place resize.",
    ),
  affinity: affinitySchema
    .optional()
    .describe("Defaults to a preference for different nodes and different zones."),
  topologySpreadConstraints: z
    .array(topologySpreadConstraintSchema)
    .max(16)
    .default([])
    .describe("How members are spread. A missing labelSelector selects the members of this cluster."),
  nodeSelector: labelSelectorMap().default({}).describe("Labels that a node must have."),
  tolerations: z.array(tolerationSchema).max(64).default([]).describe("Taints that members tolerate."),
  priorityClassName: objectName().optional().describe("Priority class of the Pods."),
  serviceAccountName: objectName()
    .optional()
    .describe("Service account of the Pods. Defaults to the namespace's default; no token is mounted."),
  labels: labelsSchema().default({}).describe("Additional labels of the Pods."),
  annotations: annotationsSchema().default({}).describe("Additional annotations of the Pods."),
  securityContext: securityContextSchema
    .optional()
    .describe("Defaults to the restricted profile of the Pod Security Standards."),
  env: envSchema().default([]).describe("Environment variables of the etcd container."),
  sidecars: sidecarsSchema().default([]).describe("Containers that run next to etcd."),
  terminationGracePeriodSeconds: int(1, 3600)
    .default(60)
    .describe("How long a member may take to hand over leadership and stop."),
});

export type Pod = z.output<typeof podSchema>;
