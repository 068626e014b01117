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
import { API_VERSION, metadataSchema, timestamp } from "./metadata.ts";
import { withRules, type Rule } from "./rule.ts";
import { text } from "./scalars.ts";

/** What the Secret with the user's certificate is called, after the EtcdUser. */
export function userSecretName(object: string): string {
  return `${object}${SECRET_SUFFIX}`;
}

const SECRET_SUFFIX = "-etcd-tls";
const LONGEST_NAME_WITH_SECRET = 253 - SECRET_SUFFIX.length;

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
  certificate: z
    .strictObject({})
    .optional()
    .describe(
      "Set to {} for a client certificate of the user's own: Quorate issues it with the user's name as common name, keeps it in the Secret that status.certificate.secret names (tls.crt, tls.key, ca.crt), and renews it. Needs tls.clientAuth Required, and client certificates that Quorate or cert-manager issues.",
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

/** It stays valid until it expires, whatever becomes of its Secret: only a user that is gone makes it useless. */
const certificateStays: Rule<{ certificate?: object | undefined }> = {
  cel: "has(self.certificate) || !has(oldSelf.certificate)",
  transition: true,
  fieldPath: ".certificate",
  message:
    "certificate cannot be removed, because what was issued stays valid until it expires: delete the EtcdUser, and create one of another name without",
  check: ({ certificate }, old) => certificate !== undefined || old?.certificate === undefined,
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

/** Its Secret is called after the object. */
const secretNameFits: Rule<{ metadata: { name: string }; spec: { certificate?: object | undefined } }> = {
  cel: `!has(self.spec.certificate) || size(self.metadata.name) <= ${LONGEST_NAME_WITH_SECRET}`,
  fieldPath: ".metadata.name",
  message: `with certificate, metadata.name may have at most ${LONGEST_NAME_WITH_SECRET} characters, because the Secret is called after it: choose a shorter one`,
  check: ({ metadata, spec }) =>
    spec.certificate === undefined || metadata.name.length <= LONGEST_NAME_WITH_SECRET,
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

export const etcdUserStatusSchema = authObjectStatusSchema.extend({
  certificate: z
    .strictObject({
      secret: text(1024).describe("Secret (on a machine: file) with the certificate and its key."),
      expires: timestamp().describe("When it ends. It is renewed after two thirds of its lifetime."),
    })
    .optional()
    .describe("The certificate of the user's own, once it is issued."),
});

export const etcdUserSchema = withRules(
  z.strictObject({
    apiVersion: z.literal(API_VERSION),
    kind: z.literal("EtcdUser"),
    metadata: metadataSchema,
    spec: withRules(userSpecFields, keptCluster, keptName, passwordStays, certificateStays).describe(
      "The user.",
    ),
    status: etcdUserStatusSchema
      .optional()
      .meta({ default: { observedGeneration: -1 } })
      .describe("Whether the user is in etcd as described."),
  }),
  userIsNotReserved,
  userIsNoMember,
  nameFits(LONGEST_AUTH_NAME),
  secretNameFits,
);

export type EtcdUserStatus = z.output<typeof etcdUserStatusSchema>;
export type EtcdUserSpec = z.output<typeof userSpecFields>;
export type EtcdUser = z.output<typeof etcdUserSchema>;
