/**
 * What every resource has: group and version, metadata, conditions. The metadata is Kubernetes' own;
 * the API server checks it, the local platform knows the same fields.
 */
import { z } from "zod";
import { int, text } from "./scalars.ts";

export const GROUP = "etcd.quorate.dev";
export const VERSION = "v1alpha1";
export const API_VERSION = `${GROUP}/${VERSION}`;
/** `kubectl get etcd` lists all resources of this project. */
export const CATEGORY = "etcd";

export const ownerReferenceSchema = z.strictObject({
  apiVersion: z.string(),
  kind: z.string(),
  name: z.string(),
  uid: z.string(),
  controller: z.boolean().optional(),
  blockOwnerDeletion: z.boolean().optional(),
});

export const metadataSchema = z.strictObject({
  name: z.string(),
  namespace: z.string().optional(),
  uid: z.string().optional(),
  generation: z.int().optional(),
  resourceVersion: z.string().optional(),
  creationTimestamp: z.string().optional(),
  deletionTimestamp: z.string().optional(),
  labels: z.record(z.string(), z.string()).optional(),
  annotations: z.record(z.string(), z.string()).optional(),
  finalizers: z.array(z.string()).optional(),
  ownerReferences: z.array(ownerReferenceSchema).optional(),
  generateName: z.string().optional(),
  selfLink: z.string().optional(),
  deletionGracePeriodSeconds: z.int().optional(),
  managedFields: z.array(z.unknown()).optional(),
});

export const timestamp = () => text(40).meta({ format: "date-time" });

export const conditionSchema = z.strictObject({
  type: text(316).describe("Which condition this is."),
  status: z.enum(["True", "False", "Unknown"]).describe("Whether it holds."),
  reason: text(1024).describe("One word for machines."),
  message: text(32768).describe("A sentence for people: what is so, and what to do."),
  lastTransitionTime: timestamp().describe("When the status last changed."),
  observedGeneration: int(0, Number.MAX_SAFE_INTEGER)
    .optional()
    .describe("The generation of the spec that this was observed for."),
});

/** A list of conditions, one per type; the API server merges it by type. */
export const conditionsSchema = z
  .array(conditionSchema)
  .max(32)
  .meta({ "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"] });

export type OwnerReference = z.output<typeof ownerReferenceSchema>;
export type Metadata = z.output<typeof metadataSchema>;
export type Condition = z.output<typeof conditionSchema>;
