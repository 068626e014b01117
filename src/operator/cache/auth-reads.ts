/**
 * Users of a cluster on Kubernetes: EtcdUsers and EtcdRoles from the caches, passwords from Secrets. Those that we made
 * are in the cache; those of users are not ours to follow, so each is asked for by name, and not on every pass.
 */
import { isByCertificate, neededSecrets, ownSecretsOf } from "../../core/auth/objects.ts";
import { Passwords } from "../../control/passwords.ts";
import type { AuthObjects, PasswordFacts } from "../../core/auth/facts.ts";
import type { ClusterFacts } from "../../core/observation.ts";
import type { MemberRecord } from "../../core/record.ts";
import type { Credentials } from "../../etcd/caller.ts";
import type { KubeClient } from "../../kube/client.ts";
import { isReason, KubeError } from "../../kube/errors.ts";
import { isControlledBy } from "../../kube/resources.ts";
import type { Clock } from "../../seams/clock.ts";
import type { EtcdTransport } from "../../seams/etcd-transport.ts";
import type { Certificates } from "../apply/certificates.ts";
import { textIn } from "../apply/secret-files.ts";
import { canIssue, oneUseFiles } from "../apply/one-use.ts";
import type { EtcdReach } from "../reach/reach.ts";
import { findOne } from "../apply/keep.ts";
import type { Stores } from "./stores.ts";
import { CLIENTS } from "../names.ts";
import { rolesFor, usersFor } from "../records/auth-object.ts";
import { secrets as secretResource } from "../resources.ts";

/** A changed password is in etcd within 30 seconds: this, and a look at etcd. */
const GOOD_MS = 10_000;
const AGAIN_MS = 2_000;

interface Read {
  readonly text: string | undefined;
  readonly where: string;
  /** By the monotonic clock. */
  readonly until: number;
}

interface KubeAuthOptions {
  readonly client: KubeClient;
  readonly stores: Stores;
  readonly clock: Pick<Clock, "monotonic">;
  readonly key: string;
  readonly reach: Pick<EtcdReach, "connect">;
}

export class KubeAuth {
  readonly #client: KubeClient;
  readonly #stores: Stores;
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #key: string;
  readonly #passwords = new Passwords();
  readonly #read = new Map<string, Read>();
  #logins: readonly Credentials[] = [];

  readonly #reach: Pick<EtcdReach, "connect">;
  readonly #certificates: Certificates;

  constructor({ client, stores, clock, key, reach }: KubeAuthOptions, certificates: Certificates) {
    this.#client = client;
    this.#stores = stores;
    this.#clock = clock;
    this.#key = key;
    this.#reach = reach;
    this.#certificates = certificates;
  }

  /** A way to etcd as its user root, where an authority of ours signs for clients. */
  async actAsRoot(): Promise<EtcdTransport | undefined> {
    const files = await oneUseFiles(this.#certificates, "root");
    if (!files) return undefined;
    const { ca, certificate: cert, key } = files;
    return this.#reach.connect?.({ ca, cert, key });
  }

  /** `commonName`: of our certificate; one that was given to us may have none, and then we log in by password. */
  async objects(
    cluster: ClusterFacts,
    commonName: string | undefined,
    records: readonly MemberRecord[],
  ): Promise<AuthObjects> {
    const { spec, name } = cluster;
    const users = usersFor(this.#stores.usersOf(this.#key));
    const byCertificate = isByCertificate(spec, records);
    const ownSecrets = ownSecretsOf(name, byCertificate);
    const needed = neededSecrets(spec, ownSecrets, users);
    for (const known of this.#read.keys()) if (!needed.includes(known)) this.#read.delete(known);
    const passwords: Record<string, PasswordFacts> = {};
    for (const secret of needed) passwords[secret] = await this.#note(cluster, secret);
    const isKnown = byCertificate && commonName !== undefined && commonName !== "";
    this.#logins = isKnown
      ? []
      : this.#credentials([
          [CLIENTS.operator, ownSecrets.operator],
          ["root", spec.auth?.rootPasswordSecret ?? ownSecrets.root],
        ]);
    return {
      self: isKnown ? commonName : CLIENTS.operator,
      byCertificate,
      users,
      roles: rolesFor(this.#stores.rolesOf(this.#key)),
      passwords,
      certificates: this.#certificates.users.facts(users, this.#stores.ownObjects(this.#key).secrets),
      ownSecrets,
      canActAsRoot: byCertificate && this.#reach.connect !== undefined && canIssue(this.#certificates),
    };
  }

  #credentials(from: readonly (readonly [user: string, secret: string])[]): Credentials[] {
    return from.flatMap(([user, secret]) => {
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

  async #note(cluster: ClusterFacts, name: string): Promise<PasswordFacts> {
    const own = this.#stores.ownObjects(this.#key).secrets.find(({ metadata }) => metadata?.name === name);
    if (own && isControlledBy(own, cluster.uid))
      return this.#passwords.note(name, textIn(own, "password"), `its key password`);
    const isOwn = Object.values<string>({ ...ownSecretsOf(cluster.name, false) }).includes(name);
    // One of ours that is not there yet is made on this very pass.
    if (isOwn) return this.#passwords.note(name, undefined, "it");
    const read = await this.#ask(cluster.namespace, name);
    return this.#passwords.note(name, read.text, read.where);
  }

  /** What cannot be read for the moment is as it was. */
  async #ask(namespace: string, name: string): Promise<Read> {
    const now = this.#clock.monotonic();
    const known = this.#read.get(name);
    if (known && now < known.until) return known;
    let read: Read;
    try {
      const found = await findOne(this.#client, secretResource, { name, namespace });
      const text = found && textIn(found, "password");
      const where = found ? "its key password" : "the Secret";
      read = { text, where, until: now + (text === undefined ? AGAIN_MS : GOOD_MS) };
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      const refused = isReason(error, "Forbidden");
      const where = `the Secret (${error.message})`;
      read = { text: refused ? undefined : known?.text, where, until: now + AGAIN_MS };
    }
    this.#read.set(name, read);
    return read;
  }
}
