/**
 * The Pods of the members: resources, scheduling, security, metadata, company. All of it is
 * Kubernetes' business; a change rolls the members one at a time, except for labels and
 * annotations, which are applied in place.
 */
import { z } from "zod";
import { affinitySchema, tolerationSchema, topologySpreadConstraintSchema } from "./affinity.ts";
import { int, quantityOrZero, stringMap, text } from "./scalars.ts";
import { withRules, type Rule } from "./rule.ts";

/** Few entries, because the API server cannot see how long a quantity is and assumes the worst for its rule. */
const quantities = () => z.record(z.string(), quantityOrZero()).meta({ maxProperties: 6 });

const resourcesSchema = z.strictObject({
  requests: quantities().optional().describe("What a member's node has to have free."),
  limits: quantities()
    .optional()
    .describe("What a member may use at most. etcd needs memory above its quota."),
});

const envVarSchema = z
  .strictObject({
    name: text(253).min(1),
    value: text(32768).optional(),
    valueFrom: z
      .looseObject({})
      .optional()
      .describe("As in a Kubernetes Pod: fieldRef, secretKeyRef and so on."),
  })
  .meta({ kubernetesType: "EnvVar" });

const securityContextSchema = z
  .strictObject({
    runAsUser: int(0, Number.MAX_SAFE_INTEGER).optional(),
    runAsGroup: int(0, Number.MAX_SAFE_INTEGER).optional(),
    runAsNonRoot: z.boolean().optional(),
    fsGroup: int(0, Number.MAX_SAFE_INTEGER).optional(),
    fsGroupChangePolicy: z.enum(["OnRootMismatch", "Always"]).optional(),
    supplementalGroups: z.array(int(0, Number.MAX_SAFE_INTEGER)).max(64).optional(),
    seccompProfile: z.strictObject({ type: text(32), localhostProfile: text(4096).optional() }).optional(),
    seLinuxOptions: z
      .strictObject({
        user: text(253).optional(),
        role: text(253).optional(),
        type: text(253).optional(),
        level: text(253).optional(),
      })
      .optional(),
    sysctls: z
      .array(z.strictObject({ name: text(253), value: text(253) }))
      .max(64)
      .optional(),
  })
  .meta({ kubernetesType: "PodSecurityContext" });

const sidecarSchema = z
  .looseObject({
    name: text(63).min(1).describe("Name of the container."),
    image: text(1024).min(1).describe("Its image."),
  })
  .meta({ kubernetesType: "Container" });

const reservedMetadata =
  "labels and annotations under app.kubernetes.io/ and etcd.quorate.dev/ belong to Quorate: choose another prefix";

const notReserved: Rule<Record<string, string>> = {
  cel: "self.all(key, !key.startsWith('app.kubernetes.io/') && !key.startsWith('etcd.quorate.dev/'))",
  message: reservedMetadata,
  check: (map) =>
    Object.keys(map).every(
      (key) => !key.startsWith("app.kubernetes.io/") && !key.startsWith("etcd.quorate.dev/"),
    ),
};

export const labelsSchema = () => withRules(stringMap(64, 63), notReserved);
export const annotationsSchema = () => withRules(stringMap(64, 16384), notReserved);

const reservedNames = ["etcd", "guard"];

const sidecarNames: Rule<{ name: string }[]> = {
  cel: `self.all(sidecar, !(sidecar.name in [${reservedNames.map((name) => `'${name}'`).join(", ")}]))`,
  message: `sidecars may not be called ${reservedNames.join(" or ")}: Quorate's own containers have these names`,
  check: (sidecars) => sidecars.every((sidecar) => !reservedNames.includes(sidecar.name)),
};

export const podSchema = z.strictObject({
  resources: resourcesSchema
    .default({ requests: { cpu: "100m", memory: "256Mi" } })
    .describe("Resources of the etcd container."),
  affinity: affinitySchema.optional().describe("Absent: members prefer different nodes and different zones."),
  topologySpreadConstraints: z
    .array(topologySpreadConstraintSchema)
    .max(16)
    .default([])
    .describe("Absent labelSelector: the members of this cluster."),
  nodeSelector: stringMap(64, 63).default({}).describe("Labels a node must have."),
  tolerations: z.array(tolerationSchema).max(64).default([]).describe("Taints that members tolerate."),
  priorityClassName: text(253).optional().describe("Priority class of the Pods."),
  serviceAccountName: text(253)
    .optional()
    .describe("Absent: the namespace's default, with no token mounted."),
  labels: labelsSchema().default({}).describe("Further labels of the Pods."),
  annotations: annotationsSchema().default({}).describe("Further annotations of the Pods."),
  securityContext: securityContextSchema
    .optional()
    .describe("Absent: the restricted profile of the Pod Security Standards."),
  env: z.array(envVarSchema).max(128).default([]).describe("Environment of the etcd container."),
  sidecars: withRules(z.array(sidecarSchema).max(16), sidecarNames)
    .default([])
    .describe("Containers that run beside etcd."),
  terminationGracePeriodSeconds: int(1, 3600)
    .default(60)
    .describe("Time for a member to hand over leadership and to stop."),
});

export type Pod = z.output<typeof podSchema>;
