/** EtcdUser: a user of etcd's authentication in one cluster: how it logs in, and which roles it has. */
import { z } from "zod";
import {
  authObjectStatusSchema,
  dependentFields,
  effectiveName,
  keptCluster,
  keptName,
  nameFits,
} from "./auth-object.ts";
import { LONGEST_AUTH_NAME, RESERVED_USER_PREFIX, ROOT } from "./auth-names.ts";
import { authName, roleNames } from "./auth.ts";
import { objectName } from "./labels.ts";
import { API_VERSION, metadataSchema } from "./metadata.ts";
import { withRules, type Rule } from "./rule.ts";

const userSpecFields = z.strictObject({
  ...dependentFields,
  name: authName()
    .optional()
    .describe(
      "Name of the user in etcd, which is the common name of its certificate. Defaults to metadata.name.",
    ),
  passwordSecret: objectName()
    .optional()
    .describe(
      "Name of a Secret in the same namespace whose key password holds the user's password. When the Secret changes, so does the password. Without it the user has no password and logs in by certificate only.",
    ),
  roles: roleNames()
    .default([])
    .describe(
      "Roles of the user, by their names in etcd: those of EtcdRoles, or root, which permits everything. Other roles of the user are revoked.",
    ),
});

/** etcd can neither take a password away nor give one to a user that was added without. */
const passwordStays: Rule<{ passwordSecret?: string | undefined }> = {
  cel: "has(self.passwordSecret) == has(oldSelf.passwordSecret)",
  transition: true,
  fieldPath: ".passwordSecret",
  message:
    "whether a user has a password cannot be changed in etcd (the password can): delete the EtcdUser and create it again",
  check: ({ passwordSecret }, old) =>
    old === undefined || (passwordSecret === undefined) === (old.passwordSecret === undefined),
};

type Named = { metadata: { name: string }; spec: { name?: string | undefined } };

const userIsNotReserved: Rule<Named> = {
  cel: `(has(self.spec.name) ? self.spec.name : self.metadata.name) != '${ROOT}' && !(has(self.spec.name) ? self.spec.name : self.metadata.name).startsWith('${RESERVED_USER_PREFIX}')`,
  fieldPath: ".metadata.name",
  message: `the user root and users that begin with ${RESERVED_USER_PREFIX} are Quorate's own: choose another name; spec.auth of the cluster sets their passwords and roles`,
  check: (object) => {
    const name = effectiveName(object);
    return name !== ROOT && !name.startsWith(RESERVED_USER_PREFIX);
  },
};

/** The HTTP gateway of a member acts as the member's certificate (R55): such a user would be everybody's. */
const userIsNoMember: Rule<{ metadata: { name: string }; spec: { name?: string; cluster: string } }> = {
  cel: "!(has(self.spec.name) ? self.spec.name : self.metadata.name).startsWith(self.spec.cluster + '-') || !(has(self.spec.name) ? self.spec.name : self.metadata.name).matches('-[0-9]+$')",
  fieldPath: ".metadata.name",
  message:
    "names that begin with that of the cluster and end with a number are those of its members, whose certificates serve the HTTP gateway: choose another name",
  check: (object) =>
    !effectiveName(object).startsWith(`${object.spec.cluster}-`) || !/-[0-9]+$/.test(effectiveName(object)),
};

export const etcdUserSchema = withRules(
  z.strictObject({
    apiVersion: z.literal(API_VERSION),
    kind: z.literal("EtcdUser"),
    metadata: metadataSchema,
    spec: withRules(userSpecFields, keptCluster, keptName, passwordStays).describe("The user."),
    status: authObjectStatusSchema
      .optional()
      .meta({ default: { observedGeneration: -1 } })
      .describe("Whether the user is in etcd as described."),
  }),
  userIsNotReserved,
  userIsNoMember,
  nameFits(LONGEST_AUTH_NAME),
);

export type EtcdUserSpec = z.output<typeof userSpecFields>;
export type EtcdUser = z.output<typeof etcdUserSchema>;
