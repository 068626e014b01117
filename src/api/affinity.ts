/**
 * Scheduling, in Kubernetes' own shapes: affinity, spread constraints and tolerations. They are
 * copied into the Pod as they are; the API server checks them again there.
 */
import { z } from "zod";
import { int, stringMap, text } from "./scalars.ts";

const strings = (max: number) => z.array(text(253)).max(max);

const requirementSchema = z.strictObject({
  key: text(317),
  operator: text(32),
  values: strings(64).optional(),
});

const labelSelectorSchema = z.strictObject({
  matchLabels: stringMap(64, 63).optional(),
  matchExpressions: z.array(requirementSchema).max(64).optional(),
});

const nodeSelectorTermSchema = z.strictObject({
  matchExpressions: z.array(requirementSchema).max(64).optional(),
  matchFields: z.array(requirementSchema).max(64).optional(),
});

const podAffinityTermSchema = z.strictObject({
  topologyKey: text(317),
  labelSelector: labelSelectorSchema.optional(),
  namespaces: strings(64).optional(),
  namespaceSelector: labelSelectorSchema.optional(),
  matchLabelKeys: strings(64).optional(),
  mismatchLabelKeys: strings(64).optional(),
});

const podAffinitySchema = z.strictObject({
  requiredDuringSchedulingIgnoredDuringExecution: z.array(podAffinityTermSchema).max(32).optional(),
  preferredDuringSchedulingIgnoredDuringExecution: z
    .array(z.strictObject({ weight: int(1, 100), podAffinityTerm: podAffinityTermSchema }))
    .max(32)
    .optional(),
});

export const affinitySchema = z
  .strictObject({
    nodeAffinity: z
      .strictObject({
        requiredDuringSchedulingIgnoredDuringExecution: z
          .strictObject({ nodeSelectorTerms: z.array(nodeSelectorTermSchema).max(32) })
          .optional(),
        preferredDuringSchedulingIgnoredDuringExecution: z
          .array(z.strictObject({ weight: int(1, 100), preference: nodeSelectorTermSchema }))
          .max(32)
          .optional(),
      })
      .optional(),
    podAffinity: podAffinitySchema.optional(),
    podAntiAffinity: podAffinitySchema.optional(),
  })
  .meta({ kubernetesType: "Affinity" });

export const topologySpreadConstraintSchema = z
  .strictObject({
    maxSkew: int(1, 100),
    topologyKey: text(317),
    whenUnsatisfiable: z.enum(["DoNotSchedule", "ScheduleAnyway"]),
    labelSelector: labelSelectorSchema.optional(),
    minDomains: int(1, 1000).optional(),
    nodeAffinityPolicy: z.enum(["Honor", "Ignore"]).optional(),
    nodeTaintsPolicy: z.enum(["Honor", "Ignore"]).optional(),
    matchLabelKeys: strings(64).optional(),
  })
  .meta({ kubernetesType: "TopologySpreadConstraint" });

export const tolerationSchema = z
  .strictObject({
    key: text(317).optional(),
    operator: z.enum(["Equal", "Exists"]).optional(),
    value: text(63).optional(),
    effect: z.enum(["NoSchedule", "PreferNoSchedule", "NoExecute"]).optional(),
    tolerationSeconds: int(0, Number.MAX_SAFE_INTEGER).optional(),
  })
  .meta({ kubernetesType: "Toleration" });

export type Affinity = z.output<typeof affinitySchema>;
export type Toleration = z.output<typeof tolerationSchema>;
export type TopologySpreadConstraint = z.output<typeof topologySpreadConstraintSchema>;
