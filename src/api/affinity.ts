/**
 * Scheduling, in Kubernetes' own shapes: affinity, spread constraints and tolerations. They are
 * copied into the Pod as they are; the API server checks them again there.
 */
import { z } from "zod";
import { labelSelectorMap } from "./labels.ts";
import { withRules, type Rule } from "./rule.ts";
import { int, text } from "./scalars.ts";

const strings = (max: number) => z.array(text(253)).max(max);
const key = () => text(317).min(1);

interface Requirement {
  operator: string;
  values?: string[] | undefined;
}

const WITHOUT_VALUES = ["Exists", "DoesNotExist"];

const valuesWhereNeeded: Rule<Requirement> = {
  cel: "(self.operator in ['Exists', 'DoesNotExist']) != (has(self.values) && size(self.values) > 0)",
  fieldPath: ".values",
  message: "Exists and DoesNotExist take no values, every other operator needs some: add or remove values",
  check: ({ operator, values = [] }) => WITHOUT_VALUES.includes(operator) !== values.length > 0,
};

const requirement = <T extends string>(...operators: [T, ...T[]]) =>
  withRules(
    z.strictObject({ key: key(), operator: z.enum(operators), values: strings(64).optional() }),
    valuesWhereNeeded,
  );
const labelRequirement = () => requirement("In", "NotIn", "Exists", "DoesNotExist");
const nodeRequirement = () => requirement("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt");

export const labelSelectorSchema = z.strictObject({
  matchLabels: labelSelectorMap().optional(),
  matchExpressions: z.array(labelRequirement()).max(64).optional(),
});

const nodeSelectorTermSchema = z.strictObject({
  matchExpressions: z.array(nodeRequirement()).max(64).optional(),
  matchFields: z.array(nodeRequirement()).max(64).optional(),
});

const podAffinityTermSchema = z.strictObject({
  topologyKey: key(),
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
          .strictObject({ nodeSelectorTerms: z.array(nodeSelectorTermSchema).min(1).max(32) })
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

const spreadFields = z.strictObject({
  maxSkew: int(1, 100),
  topologyKey: key(),
  whenUnsatisfiable: z.enum(["DoNotSchedule", "ScheduleAnyway"]),
  labelSelector: labelSelectorSchema.optional(),
  minDomains: int(1, 1000).optional(),
  nodeAffinityPolicy: z.enum(["Honor", "Ignore"]).optional(),
  nodeTaintsPolicy: z.enum(["Honor", "Ignore"]).optional(),
  matchLabelKeys: strings(64).optional(),
});

const domainsOfAHardRule: Rule<z.output<typeof spreadFields>> = {
  cel: "!has(self.minDomains) || self.whenUnsatisfiable == 'DoNotSchedule'",
  fieldPath: ".minDomains",
  message: "minDomains needs whenUnsatisfiable DoNotSchedule: remove minDomains, or change whenUnsatisfiable",
  check: ({ minDomains, whenUnsatisfiable }) =>
    minDomains === undefined || whenUnsatisfiable === "DoNotSchedule",
};

export const topologySpreadConstraintSchema = withRules(spreadFields, domainsOfAHardRule).meta({
  kubernetesType: "TopologySpreadConstraint",
});

const tolerationFields = z.strictObject({
  key: text(317).optional(),
  operator: z.enum(["Equal", "Exists"]).optional(),
  value: text(63).optional(),
  effect: z.enum(["NoSchedule", "PreferNoSchedule", "NoExecute"]).optional(),
  tolerationSeconds: int(0, Number.MAX_SAFE_INTEGER).optional(),
});

type TolerationFields = z.output<typeof tolerationFields>;

const existsHasNoValue: Rule<TolerationFields> = {
  cel: "!has(self.operator) || self.operator != 'Exists' || !has(self.value) || self.value == ''",
  fieldPath: ".value",
  message: "operator Exists tolerates every value: remove value, or use operator Equal",
  check: ({ operator, value }) => operator !== "Exists" || value === undefined || value === "",
};

const everyKeyExists: Rule<TolerationFields> = {
  cel: "(has(self.key) && self.key != '') || (has(self.operator) && self.operator == 'Exists')",
  fieldPath: ".operator",
  message:
    "a toleration without a key needs operator Exists, which tolerates every taint: add a key, or set operator to Exists",
  check: ({ key: name, operator }) => (name !== undefined && name !== "") || operator === "Exists",
};

const secondsOfNoExecute: Rule<TolerationFields> = {
  cel: "!has(self.tolerationSeconds) || (has(self.effect) && self.effect == 'NoExecute')",
  fieldPath: ".tolerationSeconds",
  message: "tolerationSeconds needs effect NoExecute: remove tolerationSeconds, or set effect to NoExecute",
  check: ({ tolerationSeconds, effect }) => tolerationSeconds === undefined || effect === "NoExecute",
};

export const tolerationSchema = withRules(
  tolerationFields,
  existsHasNoValue,
  everyKeyExists,
  secondsOfNoExecute,
).meta({ kubernetesType: "Toleration" });

export type Affinity = z.output<typeof affinitySchema>;
export type Toleration = z.output<typeof tolerationSchema>;
export type TopologySpreadConstraint = z.output<typeof topologySpreadConstraintSchema>;
