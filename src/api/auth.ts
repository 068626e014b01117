/**
 * etcd's own authentication: whether it is on, and what the users that Quorate itself makes may do. Names of users and
 * roles, as EtcdUser and EtcdRole share them.
 */
import { z } from "zod";
import { LONGEST_AUTH_NAME } from "./auth-names.ts";
import { objectName } from "./labels.ts";
import { withRules, type Rule } from "./rule.ts";
import { celWhenDurations, duration, text, whenDurations } from "./scalars.ts";

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

// Without defaults of the resource definition, which an operator from before these fields would find and reject.
const tokenFields = z.strictObject({
  type: z
    .enum(["Simple", "JWT"])
    .describe(
      "Simple: each member remembers the tokens that were issued and forgets them when it restarts. JWT: tokens are signed with a key that Quorate makes, and every member accepts them, also after a restart.",
    ),
  ttl: duration()
    .optional()
    .describe("How long a token is valid: whole seconds between 10s and 24h. Defaults to 5m."),
  keyLifetime: duration()
    .optional()
    .describe(
      "Only with type JWT: replaces the signing key when it is this old, at least 10m. Every member restarts for it, one at a time. Without it the key is replaced only by an EtcdOperation (rotateCertificates with tokenKey).",
    ),
});

export type TokenSpec = z.output<typeof tokenFields>;

const ttlInRange: Rule<TokenSpec> = {
  cel: `!has(self.ttl) || ${celWhenDurations(["self.ttl"], "duration(self.ttl) >= duration('10s') && duration(self.ttl) <= duration('24h') && duration(self.ttl).getMilliseconds() % 1000 == 0")}`,
  fieldPath: ".ttl",
  message: "must be whole seconds between 10s and 24h",
  check: ({ ttl }) =>
    ttl === undefined ||
    whenDurations([ttl], (ms) => ms >= 10_000 && ms <= 86_400_000 && Math.floor(ms) % 1000 === 0),
};

const keyLifetimeInRange: Rule<TokenSpec> = {
  cel: `!has(self.keyLifetime) || ${celWhenDurations(["self.keyLifetime"], "duration(self.keyLifetime) >= duration('10m')")}`,
  fieldPath: ".keyLifetime",
  message: "must be at least 10m, because every member restarts for another key",
  check: ({ keyLifetime }) =>
    keyLifetime === undefined || whenDurations([keyLifetime], (ms) => ms >= 600_000),
};

const keyLifetimeNeedsKey: Rule<TokenSpec> = {
  cel: "!has(self.keyLifetime) || self.type == 'JWT'",
  fieldPath: ".keyLifetime",
  message: "only tokens of type JWT have a key: set type to JWT, or remove keyLifetime",
  check: ({ type, keyLifetime }) => keyLifetime === undefined || type === "JWT",
};

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
  token: withRules(tokenFields, ttlInRange, keyLifetimeInRange, keyLifetimeNeedsKey)
    .optional()
    .describe(
      "The tokens that etcd gives to clients that log in by password. Without it, type Simple. Can be changed on a running cluster: members restart one at a time, before auth is enabled if it is not yet, and clients log in again.",
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
