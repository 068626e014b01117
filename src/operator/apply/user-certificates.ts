/**
 * The certificates of EtcdUsers, in Secrets that belong to them. They come from where those of all clients of the cluster
 * come from, and what is wrong with one is its user's matter: it is kept apart from the certificates of the cluster.
 */
import type { Secret } from "kubernetes-types/core/v1.d.ts";
import { lifetimesOf } from "../../api/lifetimes.ts";
import { userSecretName } from "../../api/etcd-user.ts";
import type { UserCertificate, UserFacts } from "../../core/auth/facts.ts";
import type { ClusterFacts } from "../../core/observation.ts";
import { isControlledBy } from "../../kube/resources.ts";
import { Keeper, type CertificateTime } from "../../pki/keeper.ts";
import { clientLeaf } from "../../pki/plan.ts";
import { PkiError, type Pki } from "../../seams/pki.ts";
import type { TLSFiles } from "../render/secret.ts";
import { pemIn } from "./secret-files.ts";

/** By this name the leaf of a user is remembered, and asked for where somebody else makes it. */
export function userLeaf(object: string): string {
  return `user ${object}`;
}

/** A leaf that is due and cannot be renewed is looked at again this late, not on every pass. */
const RETRY_MS = 10_000;

export class UserCertificates {
  readonly #pki: Pki;
  readonly #keeper: Keeper;
  /** Of the cluster, for where certificates of clients come from. */
  readonly #of: Pick<Keeper, "source">;
  /** Why a Secret could not be written. */
  readonly #failures = new Map<string, string>();
  readonly #ends = new WeakMap<Secret, { readonly expires: number | undefined }>();

  constructor(pki: Pki, time: CertificateTime, of: Pick<Keeper, "source">) {
    this.#pki = pki;
    this.#keeper = new Keeper(pki, time, { retryMs: RETRY_MS });
    this.#of = of;
  }

  /** What belongs into the Secret of a user; undefined while it cannot be had. `present`: what is in it, if that may stay. */
  async files(
    { spec }: Pick<ClusterFacts, "spec">,
    { object, name }: Pick<UserFacts, "object" | "name">,
    present: Secret | undefined,
  ): Promise<TLSFiles | undefined> {
    const source = this.#of.source("client");
    if (this.#keeper.source("client") !== source) this.#keeper.use("client", source);
    const where = `Secret ${userSecretName(object)}`;
    const [certificate, key] = ["tls.crt", "tls.key"].map((file) => present && pemIn(present, file, where));
    const wanted = clientLeaf(name, lifetimesOf(spec.tls).leafMs);
    const leaf = userLeaf(object);
    const { pair } = await this.#keeper.leaf(leaf, "client", wanted, { certificate, key });
    if (!pair || !source) return undefined;
    if (source.kind === "gives" && !this.#isNamed(leaf, pair.certificate, name)) return undefined;
    return { certificate: pair.certificate, key: pair.key, ca: source.trust.text };
  }

  /** By its common name etcd knows the user: with another one it would be another user. */
  #isNamed(leaf: string, text: string, name: string): boolean {
    const { commonName } = this.#pki.inspect({ certificate: { text, where: leaf } });
    if (commonName === name) return true;
    this.#keeper.report(
      leaf,
      `the certificate was issued with the common name ${JSON.stringify(commonName)} instead of ${JSON.stringify(name)}; correct the policy of the issuer`,
    );
    return false;
  }

  /** How writing its Secret went. */
  note(object: string, failure: string | undefined): void {
    if (failure === undefined) this.#failures.delete(object);
    else this.#failures.set(object, failure);
  }

  /** Of those that ask for one. `secrets` are those of the caches. */
  facts(users: readonly UserFacts[], secrets: readonly Secret[]): Record<string, UserCertificate> {
    const asking = users.filter(({ certificate, deleting }) => certificate && !deleting);
    const known = new Set(asking.map(({ object }) => object));
    for (const object of this.#failures.keys()) if (!known.has(object)) this.#failures.delete(object);
    return Object.fromEntries(
      asking.map(({ object, uid }) => {
        const secret = userSecretName(object);
        const found = secrets.find((one) => one.metadata?.name === secret && isControlledBy(one, uid));
        const expires = found && this.#expiryOf(found);
        const problem = this.#failures.get(object) ?? this.#keeper.problem(userLeaf(object));
        return [
          object,
          { secret, ...(expires !== undefined && { expires }), ...(problem !== undefined && { problem }) },
        ];
      }),
    );
  }

  /** When the next one is due. */
  get lookAgainAt(): number | undefined {
    return this.#keeper.lookAgainAt;
  }

  /** Forgets those that need none any more. */
  keepOnly(users: readonly Pick<UserFacts, "object">[]): void {
    const names = new Set(users.map(({ object }) => userLeaf(object)));
    for (const { name } of this.#keeper.ends)
      if (name.startsWith(userLeaf("")) && !names.has(name)) this.#keeper.forget(name);
  }

  /** From what is in place, so that another operator knows it at once. */
  #expiryOf(secret: Secret): number | undefined {
    const known = this.#ends.get(secret);
    if (known) return known.expires;
    const certificate = pemIn(secret, "tls.crt", `Secret ${secret.metadata?.name}`);
    let expires: number | undefined;
    try {
      expires = certificate && this.#pki.inspect({ certificate }).notAfter;
    } catch (error) {
      if (!(error instanceof PkiError)) throw error;
    }
    this.#ends.set(secret, { expires });
    return expires;
  }
}
