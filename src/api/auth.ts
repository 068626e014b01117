/**
 * etcd's own authentication: whether it is on, and what the users that Quorate itself makes may do. Names of users and
 * roles, as EtcdUser and EtcdRole share them.
 */
import { z } from "zod";
import { LONGEST_AUTH_NAME } from "./auth-names.ts";
import { objectName } from "./labels.ts";
import { withRules, type Rule } from "./rule.ts";
import { text } from "./scalars.ts";

const AUTH_NAME_PATTERN = "^[A-Za-z0-9]([A-Za-z0-9._@-]*[A-Za-z0-9])?$";
const MOST_ROLES = 64;

const authNamed: Rule<string> = {
  cel: `self.matches('${AUTH_NAME_PATTERN}')`,
  message:
    "must be a name of letters, digits, dots, dashes, underscores and @, with a letter or digit at both ends",
  check: (name) => new RegExp(AUTH_NAME_PATTERN).test(name),
};

/** The name of a user or a role in etcd. */
export const authName = () => withRules(text(LONGEST_AUTH_NAME).min(1), authNamed);

export const roleNames = () => z.array(authName()).max(MOST_ROLES).meta({ "x-kubernetes-list-type": "set" });

const authFields = z.strictObject({
  enabled: z
    .boolean()
    .describe(
      "Whether etcd authenticates its clients. Can be changed on a running cluster. While it is true, EtcdUsers and EtcdRoles of this cluster are applied.",
    ),
  rootPasswordSecret: objectName()
    .optional()
    .describe(
      "Name of a Secret whose key password holds the password of user root. Without it one is generated in the Secret <cluster>-root.",
    ),
  clientRoles: roleNames()
    .optional()
    .describe(
      "Roles of the user in the client credentials that Quorate publishes (status.clientSecret). Required when auth is enabled, because applications that use them may do only this from then on; may be empty.",
    ),
});

const clientRolesAreDecided: Rule<z.output<typeof authFields>> = {
  cel: "!self.enabled || has(self.clientRoles)",
  fieldPath: ".clientRoles",
  message:
    "decide what the published client credentials may do once auth is on: list their roles in clientRoles, [] for none",
  check: ({ enabled, clientRoles }) => !enabled || clientRoles !== undefined,
};

export const authSchema = withRules(authFields, clientRolesAreDecided);

export type AuthSpec = z.output<typeof authSchema>;
