/**
 * Variables of the etcd container, in Kubernetes' own shape. etcd is started with a configuration file and then
 * takes nothing from variables (H3), so that those which look as if it did are refused.
 */
import { z } from "zod";
import { withRules, type Rule } from "./rule.ts";
import { integerOrText, text } from "./scalars.ts";

const NAME = "^[-._a-zA-Z][-._a-zA-Z0-9]*$";
/** Read before etcd looks for its file. */
const READ_ANYWAY = "ETCD_UNSUPPORTED_ARCH";

const nameOfVariable: Rule<string> = {
  cel: `self.matches('${NAME}')`,
  message:
    "must be a valid variable name: use letters, digits, underscores, dashes and dots, and do not start with a digit",
  check: (name) => new RegExp(NAME).test(name),
};

const takenByEtcd: Rule<string> = {
  cel: `!self.startsWith('ETCD_') || self == '${READ_ANYWAY}'`,
  message:
    "etcd is started with a configuration file and ignores environment variables: use spec.options or spec.options.extraArgs",
  check: (name) => !name.startsWith("ETCD_") || name === READ_ANYWAY,
};

const keyOf = (what: string) =>
  z
    .strictObject({
      name: text(253).min(1).describe(`Name of the ${what}.`),
      key: text(253).min(1).describe("Which of its keys."),
      optional: z.boolean().optional().describe("Whether it may be missing."),
    })
    .optional();

const sources = z.strictObject({
  fieldRef: z
    .strictObject({ apiVersion: text(32).optional(), fieldPath: text(512).min(1) })
    .optional()
    .describe("A field of the Pod."),
  resourceFieldRef: z
    .strictObject({
      containerName: text(63).optional(),
      resource: text(253).min(1),
      divisor: integerOrText().optional(),
    })
    .optional()
    .describe("A request or limit of a container."),
  configMapKeyRef: keyOf("ConfigMap").describe("A key of a ConfigMap."),
  secretKeyRef: keyOf("Secret").describe("A key of a Secret."),
});

const SOURCES = Object.keys(sources.shape) as (keyof typeof sources.shape)[];

const oneSource: Rule<z.output<typeof sources>> = {
  cel: `[${SOURCES.map((source) => `has(self.${source})`).join(", ")}].filter(given, given).size() == 1`,
  message: `valueFrom must name one source: ${SOURCES.join(", ")}`,
  check: (from) => SOURCES.filter((source) => from[source] !== undefined).length === 1,
};

const variable = z.strictObject({
  name: withRules(text(253), nameOfVariable, takenByEtcd),
  value: text(32768).optional(),
  valueFrom: withRules(sources, oneSource).optional(),
});

const valueOrSource: Rule<z.output<typeof variable>> = {
  cel: "!has(self.value) || !has(self.valueFrom)",
  message: "a variable may have a value or a valueFrom, not both: remove one of them",
  check: ({ value, valueFrom }) => value === undefined || valueFrom === undefined,
};

const givenOnce: Rule<{ name: string }[]> = {
  cel: "self.all(variable, self.exists_one(other, other.name == variable.name))",
  message: "each variable may be set only once: only the last one would take effect, so remove the others",
  check: (list) => new Set(list.map(({ name }) => name)).size === list.length,
};

export const envSchema = () =>
  withRules(
    z.array(withRules(variable, valueOrSource).meta({ kubernetesType: "EnvVar" })).max(128),
    givenOnce,
  );
