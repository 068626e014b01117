/** Messages of etcd's authentication. */
import type { AuthChange } from "../auth/facts.ts";
import { sayChange, sayProblem, type AuthProblem } from "./auth-words.ts";
import { step, wait, type Names } from "./message.ts";
import { dateTime, list } from "./words.ts";

interface OfObject {
  readonly of: string;
  readonly name: string;
}
const OBJECT: OfObject = { of: "EtcdUser", name: "orders" };

export const AUTH = {
  AuthChanged: step({
    say: ({ change }: { change: AuthChange }) => `auth: ${sayChange(change)}`,
    example: { change: { do: "GrantRole", role: "orders-writer", user: "orders" } },
  }),
  AuthReadBack: step({
    say: () => "auth: reading users and roles back",
    example: {},
  }),
  AuthEnabled: step({
    say: ({ users }: { users: number }) =>
      `enabling auth: ${users} users are in place, and the operator checks right after that it still has access`,
    example: { users: 7 },
  }),
  AuthDisabled: step({
    say: () => "disabling auth, because spec.auth.enabled is false; users and roles stay in etcd",
    example: {},
  }),
  AuthObjectApplied: step({
    say: ({ of, name }: OfObject) => `noting on ${of} ${name} that it is applied from now on`,
    example: OBJECT,
  }),
  AuthObjectReleased: step({
    say: ({ of, name }: OfObject) => `releasing ${of} ${name}: it is gone from etcd`,
    example: OBJECT,
  }),
  AuthRegained: step({
    say: ({ user }: { user: string }) =>
      `etcd has auth enabled and refuses the operator: adding user ${user} with role root, by a certificate of user root that the operator issues to itself`,
    example: { user: "quorate-operator" },
  }),
  AuthNotRead: wait("AuthPending", {
    say: () => "users and roles have not been read from etcd yet",
    example: {},
  }),
  AuthAwaitsTokens: wait("AuthPending", {
    say: ({ members }: { members: Names }) =>
      `auth is enabled once every member runs with spec.auth.token; waiting for ${list(members)} to restart`,
    example: { members: ["demo-2", "demo-3"] },
  }),
  TokenKeyNoted: step({
    say: ({ number }: { number: number }) =>
      `noting when key ${number} of auth tokens came into use, because spec.auth.token.keyLifetime limits its age`,
    example: { number: 1 },
  }),
  TokenKeyDue: step({
    say: ({ number, since }: { number: number; since: number }) =>
      `the key of auth tokens has been in use since ${dateTime(since)}: members restart with key ${number}, one at a time`,
    example: { number: 2, since: Date.UTC(2026, 0, 2, 2, 30) },
  }),
  TokenKeyForgotten: step({
    say: () => "no member signs auth tokens any more: removing the record of their signing key",
    example: {},
  }),
  AuthBlocked: wait("AuthPending", {
    say: ({ problem, isEnabled }: { problem: AuthProblem; isEnabled: boolean }) =>
      `${isEnabled ? "auth is enabled, but not as described" : "auth is not enabled yet"} (${problem.field}: ${sayProblem(problem)})`,
    next: ({ problem }) => `Correct ${problem.field}; everything else keeps running as it is.`,
    example: {
      problem: { reason: "UnknownRole", field: "spec.auth.clientRoles", roles: ["orders-writer"] },
      isEnabled: false,
    },
  }),
  AuthEnabledByHand: wait("AuthEnabledByHand", {
    say: ({ self }: { self: string }) =>
      `etcd has auth enabled, and spec.auth is absent; the operator works as user ${self} and leaves auth and the other users as they are`,
    next: () =>
      "Set spec.auth.enabled to true with clientRoles to let Quorate manage auth, or to false to disable it.",
    example: { self: "quorate-operator" },
  }),
} as const;
