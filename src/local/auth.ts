/**
 * Users of a local cluster: EtcdUsers and EtcdRoles from their files, passwords from files beside them
 * (`secrets/<name>/password`, laid out as a mounted Secret), and the passwords that the controller makes itself.
 */
import path from "node:path";
import type { EtcdRole } from "../api/etcd-role.ts";
import type { EtcdUser } from "../api/etcd-user.ts";
import {
  generatedSecrets,
  isByCertificate,
  neededSecrets,
  oldestFirst,
  ownSecretsOf,
  roleFacts,
  userFacts,
} from "../core/auth/objects.ts";
import type { Problem } from "../control/problem.ts";
import { Passwords } from "../control/passwords.ts";
import type { Action } from "../core/action.ts";
import { neededKeys } from "../core/auth/token.ts";
import type { AuthObjects, PasswordFacts, UserFacts } from "../core/auth/facts.ts";
import type { MemberRecord } from "../core/record.ts";
import type { Credentials } from "../etcd/caller.ts";
import { hex } from "../seams/random.ts";
import { AuthStore } from "./auth-store.ts";
import type { Layout } from "./layout.ts";
import type { StoredCluster, StoreSeams } from "./store.ts";

/** The common name of the controller's certificate, and the user that it logs in as without one. */
export const CONTROLLER = "quorate-controller";

const PASSWORD_BYTES = 24;
/** As hexadecimal text; HS256 takes no less than 32. */
const TOKEN_KEY_BYTES = 48;

export class LocalAuth {
  readonly users: AuthStore;
  readonly roles: AuthStore;
  readonly #layout: Layout;
  readonly #seams: StoreSeams;
  readonly #passwords = new Passwords();
  #logins: readonly Credentials[] = [];
  damaged: readonly Problem[] = [];

  constructor(layout: Layout, seams: StoreSeams) {
    this.#layout = layout;
    this.#seams = seams;
    this.users = new AuthStore("EtcdUser", layout, seams);
    this.roles = new AuthStore("EtcdRole", layout, seams);
  }

  async read(
    { name, spec }: Pick<StoredCluster, "name" | "spec">,
    records: readonly MemberRecord[],
    canActAsRoot: boolean,
  ): Promise<AuthObjects> {
    const [users, roles] = [await this.users.list(), await this.roles.list()];
    this.damaged = [...users.damaged, ...roles.damaged];
    const byCertificate = isByCertificate(spec, records);
    const ownSecrets = ownSecretsOf(name, byCertificate);
    const facts = oldestFirst(
      users.objects.map(({ object, applied }) => userFacts(object as EtcdUser, applied)),
    );
    const passwords: Record<string, PasswordFacts> = {};
    for (const secret of neededSecrets(spec, ownSecrets, facts)) {
      const file = this.#layout.password(secret);
      passwords[secret] = this.#passwords.note(secret, await this.#seams.disk.read(file), file);
    }
    const root = spec.auth?.rootPasswordSecret ?? ownSecrets.root;
    this.#logins = byCertificate
      ? []
      : this.#credentials([
          { user: CONTROLLER, secret: ownSecrets.operator },
          { user: "root", secret: root },
        ]);
    return {
      self: CONTROLLER,
      byCertificate,
      users: facts,
      roles: oldestFirst(roles.objects.map(({ object, applied }) => roleFacts(object as EtcdRole, applied))),
      passwords,
      ownSecrets,
      canActAsRoot: byCertificate && canActAsRoot,
    };
  }

  /** Those that have a certificate of their own, or are about to. */
  async certified(): Promise<UserFacts[]> {
    const { objects } = await this.users.list();
    return objects
      .map(({ object, applied }) => userFacts(object as EtcdUser, applied))
      .filter(({ certificate, deleting }) => certificate && !deleting);
  }

  #credentials(from: readonly { readonly user: string; readonly secret: string }[]): Credentials[] {
    return from.flatMap(({ user, secret }) => {
      const password = this.#passwords.get(secret);
      return password === undefined ? [] : [{ user, password }];
    });
  }

  get logins(): readonly Credentials[] {
    return this.#logins;
  }

  password(secret: string): string | undefined {
    return this.#passwords.get(secret);
  }

  /** Makes the passwords that nobody gave. True when one was made now. */
  async ensure({ name, spec }: Pick<StoredCluster, "name" | "spec">): Promise<boolean> {
    const { disk, random } = this.#seams;
    let made = false;
    for (const { secret } of generatedSecrets(spec, ownSecretsOf(name, isByCertificate(spec)))) {
      const file = this.#layout.password(secret);
      if ((await disk.read(file)) !== undefined) continue;
      await disk.makeDirectory(this.#layout.secret(secret));
      await disk.write(file, `${hex(random, PASSWORD_BYTES)}\n`, { private: true });
      made = true;
    }
    return made;
  }

  /** Makes the keys that members sign tokens with, and removes those that nobody signs with any more. */
  async ensureTokenKeys(
    { spec, marks }: Pick<StoredCluster, "spec" | "marks">,
    records: readonly MemberRecord[],
  ): Promise<void> {
    const { disk, random } = this.#seams;
    const { tokenKeys } = this.#layout;
    const needed = neededKeys(spec, marks, records).map((number) => this.#layout.tokenKey(number));
    const found = (await disk.list(tokenKeys)).map((file) => path.join(tokenKeys, file));
    for (const file of needed) {
      if (found.includes(file)) continue;
      await disk.makeDirectory(tokenKeys);
      await disk.write(file, hex(random, TOKEN_KEY_BYTES), { private: true });
    }
    for (const file of found) if (!needed.includes(file)) await disk.remove(file);
  }

  /** Where those are, to be deleted with the cluster; what people put beside them stays. */
  async generated(cluster: string): Promise<string[]> {
    const found: string[] = [];
    for (const secret of Object.values<string>({ ...ownSecretsOf(cluster, false) })) {
      const dir = this.#layout.secret(secret);
      if ((await this.#seams.disk.stat(dir)) !== undefined) found.push(dir);
    }
    return found;
  }

  async update({ of, name, resourceVersion, change }: Extract<Action, { kind: "UpdateAuthObject" }>) {
    const store = of === "EtcdUser" ? this.users : this.roles;
    await store.update(name, resourceVersion, change);
  }
}
