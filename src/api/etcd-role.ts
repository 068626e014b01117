/** EtcdRole: a role of etcd's authentication in one cluster, and the keys that its users may read and write. */
import { z } from "zod";
import {
  authObjectStatusSchema,
  dependentFields,
  effectiveName,
  keptCluster,
  keptName,
  nameFits,
} from "./auth-object.ts";
import { LONGEST_AUTH_NAME, ROOT } from "./auth-names.ts";
import { authName } from "./auth.ts";
import { API_VERSION, metadataSchema } from "./metadata.ts";
import { withRules, type Rule } from "./rule.ts";
import { text } from "./scalars.ts";

const LONGEST_KEY = 1024;

const permissionFields = z.strictObject({
  access: z.enum(["Read", "Write", "ReadWrite"]).describe("What is permitted."),
  key: text(LONGEST_KEY).describe(
    "The key, or with prefix the beginning of the keys, or with rangeEnd the first key of the range.",
  ),
  prefix: z
    .boolean()
    .optional()
    .describe("All keys that begin with key; with an empty key all keys there are."),
  rangeEnd: text(LONGEST_KEY)
    .min(1)
    .optional()
    .describe("All keys from key up to this one, which is not included."),
});
type PermissionFields = z.output<typeof permissionFields>;

const keyOrPrefix: Rule<PermissionFields> = {
  cel: "size(self.key) > 0 || (has(self.prefix) && self.prefix)",
  fieldPath: ".key",
  message: "an empty key is allowed only with prefix: true, which permits all keys",
  check: ({ key, prefix }) => key !== "" || prefix === true,
};

const oneKindOfRange: Rule<PermissionFields> = {
  cel: "!has(self.rangeEnd) || !has(self.prefix) || !self.prefix",
  fieldPath: ".rangeEnd",
  message: "set either prefix or rangeEnd",
  check: ({ prefix, rangeEnd }) => rangeEnd === undefined || prefix !== true,
};

const points = (word: string): number[] => Array.from(word, (character) => character.codePointAt(0) ?? 0);

/** By code points, which is the order of their bytes. */
export function isBefore(a: string, b: string): boolean {
  const [left, right] = [points(a), points(b)];
  for (const [index, point] of left.entries()) {
    const other = right[index];
    if (other === undefined || point !== other) return other !== undefined && point < other;
  }
  return left.length < right.length;
}

const rangeIsOrdered: Rule<PermissionFields> = {
  cel: "!has(self.rangeEnd) || self.key < self.rangeEnd",
  fieldPath: ".rangeEnd",
  message: "rangeEnd must come after key, or the range holds no key",
  check: ({ key, rangeEnd }) => rangeEnd === undefined || isBefore(key, rangeEnd),
};

export const permissionSchema = withRules(permissionFields, keyOrPrefix, oneKindOfRange, rangeIsOrdered);

const roleSpecFields = z.strictObject({
  ...dependentFields,
  name: authName().optional().describe("Name of the role in etcd. Defaults to metadata.name."),
  permissions: z
    .array(permissionSchema)
    .max(64)
    .default([])
    .meta({ "x-kubernetes-list-type": "atomic" })
    .describe("What users with this role may do. Other permissions of the role in etcd are revoked."),
});

type Named = { metadata: { name: string }; spec: { name?: string | undefined } };

const roleIsOurs: Rule<Named> = {
  cel: `(has(self.spec.name) ? self.spec.name : self.metadata.name) != '${ROOT}'`,
  fieldPath: ".metadata.name",
  message: "the role root is built into etcd and permits everything: choose another name",
  check: (object) => effectiveName(object) !== ROOT,
};

export const etcdRoleSchema = withRules(
  z.strictObject({
    apiVersion: z.literal(API_VERSION),
    kind: z.literal("EtcdRole"),
    metadata: metadataSchema,
    spec: withRules(roleSpecFields, keptCluster, keptName).describe("The role."),
    status: authObjectStatusSchema
      .optional()
      .meta({ default: { observedGeneration: -1 } })
      .describe("Whether the role is in etcd as described."),
  }),
  roleIsOurs,
  nameFits(LONGEST_AUTH_NAME),
);

export type EtcdRoleSpec = z.output<typeof roleSpecFields>;
export type EtcdRole = z.output<typeof etcdRoleSchema>;
export type PermissionSpec = z.output<typeof permissionSchema>;
