/**
 * Users and roles as etcd has them. Each question about them is an entry of etcd's log, so little is asked: whether
 * anything changed, by the revision of the auth store, and only then the rest. Our own steps are followed without
 * reading again, until a step reads back. Passwords cannot be read: a login tells whether one is right.
 */
import { authAfter } from "../core/auth/after.ts";
import type { Access, AuthChange, AuthFacts, AuthObjects, EtcdAuth, Permission } from "../core/auth/facts.ts";
import { own as ofName } from "../core/auth/own.ts";
import type { ClusterFacts, Observation, WorkloadFacts } from "../core/observation.ts";
import type { MemberRecord } from "../core/record.ts";
import { isChangingTLS } from "../core/template/effective.ts";
import type { PermissionType } from "../etcd/auth.ts";
import { EtcdClient } from "../etcd/client.ts";
import { isEtcdError } from "../etcd/errors.ts";
import type { Clock } from "../seams/clock.ts";
import type { Endpoint } from "../seams/etcd-transport.ts";
import type { Platform } from "./platform.ts";

/** Drift is put right within 30 seconds: seen within this, at most one look later than it could be. */
export const AUTH_LOOK_MS = 10_000;
const ASK_MS = 2_000;
const CHANGE_MS = 5_000;
/** Each login costs etcd a bcrypt, tens of milliseconds of a core. */
const AT_ONCE = 2;

type Known = Omit<EtcdAuth, "predicted">;

export class AuthReader {
  readonly #client: EtcdClient;
  readonly #platform: Platform;
  readonly #clock: Clock;
  #known: Known | undefined;
  #predicted = false;
  /** Of the auth store when it was last read, and how often we changed it since. */
  #revision = -1n;
  #changes = 0n;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #hasLooked = false;
  /** Auth was on, and refused us. */
  #isFound = false;
  /** Of every member that runs, whether it answers us or not. */
  #endpoints: readonly Endpoint[] = [];
  /** Users with the version of the password that they were last seen to have, by a login at `#revision`. */
  #passwords: Record<string, number> = {};

  constructor(client: EtcdClient, platform: Platform, clock: Clock) {
    this.#client = client;
    this.#platform = platform;
    this.#clock = clock;
  }

  /**
   * When there is something new to look for; undefined without a quorum, which looks need, and for a cluster without users,
   * unless its TLS is changed.
   */
  dueMs({ cluster, auth, members, etcd }: Observation): number | undefined {
    if (auth === undefined || etcd.list?.linearizable !== true) return undefined;
    if (!isChangingTLS(members, cluster.spec) && !this.#isFollowed(cluster, auth)) return undefined;
    return Math.max(0, this.#lookedAt + AUTH_LOOK_MS - this.#clock.monotonic());
  }

  /** What failed is not known until the next look. */
  async facts(
    cluster: ClusterFacts,
    objects: AuthObjects,
    quorate: boolean,
    members: readonly { readonly record: MemberRecord; readonly workload: WorkloadFacts }[],
  ): Promise<AuthFacts> {
    const running = members.filter(({ workload }) => workload.state === "running");
    this.#endpoints = running.map(({ record }) => this.#platform.endpoint(record));
    // TLS is changed only where auth is known to be off, which anybody may have enabled by hand.
    const isNeeded = isChangingTLS(members, cluster.spec);
    if (quorate && this.#isDue(cluster, objects, isNeeded)) {
      try {
        await this.#look(cluster, objects);
      } catch (error) {
        if (!isEtcdError(error)) throw error;
        this.#known = undefined;
        this.#revision = -1n;
      }
      this.#lookedAt = this.#clock.monotonic();
      this.#hasLooked = true;
    }
    const known = this.#known;
    return known ? { ...objects, etcd: { ...known, predicted: this.#predicted } } : objects;
  }

  #isDue(cluster: ClusterFacts, objects: AuthObjects, isNeeded: boolean): boolean {
    if (this.#predicted || !(isNeeded || this.#isFollowed(cluster, objects))) return false;
    if (!this.#hasLooked || (this.#known?.enabled && !this.#arePasswordsKnown(cluster, objects))) return true;
    return this.#clock.monotonic() - this.#lookedAt >= AUTH_LOOK_MS;
  }

  /** Where users are to be kept, and where we found auth that nobody asked us for. */
  #isFollowed({ spec }: ClusterFacts, { users, roles }: AuthObjects): boolean {
    if (spec.auth !== undefined || this.#isFound) return true;
    const reported = this.#platform.lastStatus?.()?.conditions?.some(({ type }) => type === "AuthReady");
    return reported === true || [...users, ...roles].some(({ applied }) => applied);
  }

  /** A login is tried only once for each version of a password; when it is wrong, the rule sets it. */
  readonly #tried = new Map<string, number>();

  #arePasswordsKnown(cluster: ClusterFacts, objects: AuthObjects): boolean {
    return this.#logins(cluster, objects).every(({ user, version }) => this.#tried.get(user) === version);
  }

  async #look(cluster: ClusterFacts, objects: AuthObjects): Promise<void> {
    const status = await this.#client.auth.status({ timeoutMs: ASK_MS });
    const same = this.#known?.enabled === status.enabled && this.#revision === status.revision;
    if (!same) await this.#readAll(status);
    if (this.#known?.enabled) await this.#verify(cluster, objects);
  }

  async #readAll({ enabled, revision }: { enabled: boolean; revision: bigint }): Promise<void> {
    const { auth } = this.#client;
    const limit = { timeoutMs: ASK_MS };
    const [userNames, roleNames] = await Promise.all([auth.userList(limit), auth.roleList(limit)]);
    const users = await each(userNames, (name) => auth.userGet(name, limit), "auth-user-not-found");
    const roles = await each(roleNames, (name) => auth.roleGet(name, limit), "auth-role-not-found");
    // Changed by nobody but us: whose password was right still has it.
    if (revision !== this.#revision + this.#changes) this.#forgetPasswords();
    this.#revision = revision;
    this.#changes = 0n;
    const permissions = Object.entries(roles).map(([role, of]) => [role, of.map(toPermission)] as const);
    this.#known = {
      enabled,
      users,
      roles: Object.fromEntries(permissions),
      passwords: this.#passwords,
    };
  }

  #forgetPasswords(): void {
    this.#passwords = {};
    this.#tried.clear();
  }

  #logins({ spec }: ClusterFacts, objects: AuthObjects): Login[] {
    const { ownSecrets, self, passwords } = objects;
    const own = [
      { user: "root", secret: spec.auth?.rootPasswordSecret ?? ownSecrets.root },
      { user: self, secret: ownSecrets.operator },
      ...(ownSecrets.client === undefined ? [] : [{ user: "quorate-user", secret: ownSecrets.client }]),
    ];
    const others = objects.users.flatMap(({ deleting, name: user, passwordSecret: secret }) =>
      deleting || secret === undefined ? [] : [{ user, secret }],
    );
    // Of a name that is described twice the first counts, as for the rule.
    const all = [...own, ...others];
    const first = all.filter(({ user }, index) => all.findIndex((one) => one.user === user) === index);
    return first.flatMap(({ user, secret }) => {
      const password = ofName(passwords, secret);
      const exists = Object.hasOwn(this.#known?.users ?? {}, user);
      return exists && password && "version" in password ? [{ user, secret, version: password.version }] : [];
    });
  }

  async #verify(cluster: ClusterFacts, objects: AuthObjects): Promise<void> {
    const open = this.#logins(cluster, objects).filter(
      ({ user, version }) => this.#tried.get(user) !== version,
    );
    const work = async () => {
      for (let login = open.shift(); login; login = open.shift()) {
        const { user, secret, version } = login;
        const isRight = await this.#isRight(user, secret);
        this.#tried.set(user, version);
        const { [user]: _, ...others } = this.#passwords;
        this.#passwords = isRight ? { ...others, [user]: version } : others;
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    if (this.#known) this.#known = { ...this.#known, passwords: this.#passwords };
  }

  async #isRight(user: string, secret: string): Promise<boolean> {
    const password = this.#platform.password?.(secret);
    if (password === undefined) return false;
    try {
      await this.#client.auth.authenticate(user, password, { timeoutMs: CHANGE_MS });
      return true;
    } catch (error) {
      if (isEtcdError(error, "auth-failed", "auth-no-password-user")) return false;
      throw error;
    }
  }

  /** One step. What etcd has already counts as done (H10). */
  async change(change: AuthChange, passwords: AuthObjects["passwords"]): Promise<void> {
    try {
      await this.#call(change);
    } catch (error) {
      // It may have been done, and etcd may have something else than we think.
      this.#lookAgain();
      throw error;
    }
    if (change.do === "RegainAccess") this.#isFound = true;
    if (change.do === "ReadBack" || change.do === "RegainAccess") {
      this.#lookAgain();
      return;
    }
    this.#changes++;
    if (!this.#known) return;
    const { predicted: _, ...known } = authAfter({ ...this.#known, predicted: true }, change, passwords);
    this.#known = known;
    this.#passwords = { ...known.passwords };
    for (const [user, version] of Object.entries(known.passwords)) this.#tried.set(user, version);
    this.#predicted = true;
  }

  #lookAgain(): void {
    this.#predicted = false;
    this.#hasLooked = false;
  }

  async #call(change: AuthChange): Promise<void> {
    const { auth } = this.#client;
    const limit = { timeoutMs: CHANGE_MS };
    switch (change.do) {
      case "AddRole":
        return await unless(auth.roleAdd(change.role, limit), "auth-role-exists");
      case "DeleteRole":
        return await unless(auth.roleDelete(change.role, limit), "auth-role-not-found");
      case "GrantPermission": {
        const { access, key, end } = change.permission;
        const range = { key: bytesOf(key), rangeEnd: bytesOf(end) };
        return await auth.roleGrantPermission(change.role, TYPES[access], range, limit);
      }
      case "RevokePermission": {
        const { key, end } = change.permission;
        const range = { key: bytesOf(key), rangeEnd: bytesOf(end) };
        return await unless(
          auth.roleRevokePermission(change.role, range, limit),
          "auth-permission-not-granted",
          "auth-role-not-found",
        );
      }
      case "AddUser": {
        const password = change.secret === undefined ? undefined : this.#password(change.secret);
        return await unless(auth.userAdd(change.user, password, limit), "auth-user-exists");
      }
      case "ChangePassword":
        return await this.#changePassword(change.user, change.secret);
      case "DeleteUser":
        return await unless(auth.userDelete(change.user, limit), "auth-user-not-found");
      case "GrantRole":
        return await auth.userGrantRole(change.user, change.role, limit);
      case "RevokeRole":
        return await unless(
          auth.userRevokeRole(change.user, change.role, limit),
          "auth-role-not-granted",
          "auth-user-not-found",
        );
      case "ReadBack":
        return;
      case "EnableAuth":
        return await this.#enable(change.secret);
      case "DisableAuth":
        return await auth.disable(limit);
      case "RegainAccess":
        return await this.#regain(change.user, change.secret);
    }
  }

  #password(secret: string): string {
    const password = this.#platform.password?.(secret);
    if (password === undefined) throw new Error(`the password in Secret ${secret} cannot be read any more`);
    return password;
  }

  /** etcd says nothing when it does not give a password to a user that was added without one. */
  async #changePassword(user: string, secret: string): Promise<void> {
    await this.#client.auth.userChangePassword(user, this.#password(secret), { timeoutMs: CHANGE_MS });
    if (!this.#known?.enabled || (await this.#isRight(user, secret))) return;
    throw new Error(
      `etcd does not accept the new password of user ${user}, probably because the user was added without one: delete it with etcdctl user delete ${user}, and it is added again`,
    );
  }

  /** From here on only those with the role root can undo it: if that is not us, root does. */
  async #enable(secret: string): Promise<void> {
    const limit = { timeoutMs: CHANGE_MS };
    await this.#client.auth.enable(limit);
    try {
      await this.#client.auth.status(limit);
    } catch (error) {
      if (!isEtcdError(error, ...REFUSALS)) throw error;
      const root = new EtcdClient({
        transport: this.#platform.transport,
        clock: this.#clock,
        endpoints: this.#client.endpoints,
        credentials: () => [{ user: "root", password: this.#password(secret) }],
      });
      await root.auth.disable(limit);
      throw new Error(
        `auth was disabled again at once, because etcd refuses the operator (${error.said}): check that its client certificate is the one that etcd sees`,
        { cause: error },
      );
    }
  }

  /** By a certificate with the common name root (R55), for these two calls only. */
  async #regain(user: string, secret: string): Promise<void> {
    const limit = { timeoutMs: CHANGE_MS };
    const transport = await this.#platform.actAsRoot?.();
    if (!transport) throw new Error("no certificate for user root can be issued");
    try {
      const { auth } = new EtcdClient({ transport, clock: this.#clock, endpoints: this.#endpoints });
      const password = this.#platform.password?.(secret);
      await unless(auth.userAdd(user, password, limit), "auth-user-exists");
      await auth.userGrantRole(user, "root", limit);
    } finally {
      await transport.close();
    }
  }
}

const REFUSALS = [
  "permission-denied",
  "auth-user-required",
  "auth-failed",
  "auth-no-password-user",
  "auth-invalid-token",
  "auth-user-not-found",
] as const;

interface Login {
  readonly user: string;
  readonly secret: string;
  readonly version: number;
}

const TYPES: Readonly<Record<Access, PermissionType>> = {
  Read: "READ",
  Write: "WRITE",
  ReadWrite: "READWRITE",
};
const ACCESS: Readonly<Record<PermissionType, Access>> = {
  READ: "Read",
  WRITE: "Write",
  READWRITE: "ReadWrite",
};

function toPermission({
  type,
  key,
  rangeEnd,
}: {
  type: PermissionType;
  key: Uint8Array;
  rangeEnd: Uint8Array;
}): Permission {
  return { access: ACCESS[type], key: hexOf(key), end: hexOf(rangeEnd) };
}

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}

function bytesOf(hex: string): Uint8Array {
  return Buffer.from(hex, "hex");
}

/** One after the other, by name; what was deleted meanwhile is left out. */
async function each<T>(
  names: readonly string[],
  ask: (name: string) => Promise<T>,
  gone: "auth-user-not-found" | "auth-role-not-found",
): Promise<Record<string, T>> {
  const found: [string, T][] = [];
  for (const name of names) {
    try {
      found.push([name, await ask(name)]);
    } catch (error) {
      if (!isEtcdError(error, gone)) throw error;
    }
  }
  // With fromEntries, one named __proto__ is a name like any other.
  return Object.fromEntries(found);
}

async function unless(change: Promise<void>, ...already: Parameters<typeof isEtcdError>[1][]): Promise<void> {
  try {
    await change;
  } catch (error) {
    if (!isEtcdError(error, ...already)) throw error;
  }
}
