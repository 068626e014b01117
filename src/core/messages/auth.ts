/** Messages of etcd's authentication. */
import { step, wait } from "./message.ts";

interface OfObject {
  readonly of: string;
  readonly name: string;
}
const OBJECT: OfObject = { of: "EtcdUser", name: "orders" };

export const AUTH = {
  AuthChanged: step({
    say: ({ what }: { what: string }) => `auth: ${what}`,
    example: { what: "granting role orders-writer to user orders" },
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
  AuthBlocked: wait("AuthPending", {
    say: ({ field, why, isEnabled }: { field: string; why: string; isEnabled: boolean }) =>
      `${isEnabled ? "auth is enabled, but not as described" : "auth is not enabled yet"} (${field}: ${why})`,
    next: ({ field }) => `Correct ${field}; everything else keeps running as it is.`,
    example: {
      field: "spec.auth.clientRoles",
      why: "no role is named orders-writer; create an EtcdRole for it, or correct the name",
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
