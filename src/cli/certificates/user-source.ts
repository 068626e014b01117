/**
 * Where the certificate of an EtcdUser comes from at the command line: its Secret and the client CA, each with the
 * caller's own rights, or files on this machine.
 */
import type { EtcdUser } from "../../api/etcd-user.ts";
import { userSecretName } from "../../api/etcd-user.ts";
import { isReason } from "../../kube/errors.ts";
import { isOwnedBy, type KubeObject, type Resource } from "../../kube/resources.ts";
import { AuthStore } from "../../local/auth-store.ts";
import { Authorities } from "../../local/authorities.ts";
import { thisMachine } from "../../local/machine.ts";
import { Store } from "../../local/store.ts";
import { authorityIn, authorityName } from "../../operator/apply/authority-secret.ts";
import { textIn } from "../../operator/apply/secret-files.ts";
import { etcdUsers, secrets } from "../../operator/resources.ts";
import type { Authority } from "../../pki/authority.ts";
import { CommandError, EXIT } from "../exit.ts";
import { UsageError, type CliIo } from "../io.ts";
import { explained } from "../target/kube-errors.ts";
import { KubeTarget } from "../target/kube.ts";
import { LocalTarget } from "../target/local.ts";
import type { ClusterObject, Target } from "../target/target.ts";

/** PEM texts. */
export interface ClientFiles {
  readonly certificate: string;
  readonly key: string;
  readonly ca: string;
}

/** What is asked of a cluster. */
export interface SecuredCluster {
  readonly metadata: { readonly name: string };
  readonly spec: Pick<ClusterObject["spec"], "tls">;
}

export interface UserSource {
  user(name: string): Promise<EtcdUser | undefined>;
  /** How a person asks for a certificate in the spec of a user that has none. */
  howToAsk(user: string): string;
  cluster(user: EtcdUser): Promise<SecuredCluster>;
  /** What was issued to the user; undefined while it is not there. */
  files(user: EtcdUser): Promise<ClientFiles | undefined>;
  /** The CA that signs for clients, with its key; undefined while there is none. */
  authority(cluster: SecuredCluster): Promise<Authority | undefined>;
}

export function userSourceOf(target: Target, io: CliIo): UserSource {
  if (target instanceof KubeTarget) return new KubeUsers(target, io);
  if (target instanceof LocalTarget) return new LocalUsers(target, io);
  throw new TypeError("unknown target");
}

class KubeUsers implements UserSource {
  readonly #target: KubeTarget;
  readonly #io: CliIo;

  constructor(target: KubeTarget, io: CliIo) {
    this.#target = target;
    this.#io = io;
  }

  get #namespace(): string {
    const { namespace } = this.#target;
    if (namespace === undefined) throw new UsageError("name one namespace with -n");
    return namespace;
  }

  async user(name: string): Promise<EtcdUser | undefined> {
    return await this.#find(etcdUsers, "etcdusers.etcd.quorate.dev", name);
  }

  howToAsk(user: string): string {
    return `kubectl patch etcduser ${user} -n ${this.#namespace} --type merge -p '{"spec":{"certificate":{}}}'`;
  }

  async cluster({ spec }: EtcdUser): Promise<SecuredCluster> {
    return await this.#target.cluster(spec.cluster);
  }

  async files({ metadata }: EtcdUser): Promise<ClientFiles | undefined> {
    const secret = await this.#find(secrets, "secrets", userSecretName(metadata.name));
    const [certificate, key, ca] = ["tls.crt", "tls.key", "ca.crt"].map(
      (file) => secret && textIn(secret, file),
    );
    const isOf = secret !== undefined && isOwnedBy(secret, metadata.uid ?? "");
    return certificate && key && ca && isOf ? { certificate, key, ca } : undefined;
  }

  async authority({ metadata }: SecuredCluster): Promise<Authority | undefined> {
    const name = authorityName(metadata, "client");
    const secret = await this.#find(secrets, "secrets", name);
    return secret && authorityIn(secret, `Secret ${this.#namespace}/${name}`);
  }

  async #find<T extends KubeObject>(
    resource: Resource<T>,
    plural: string,
    name: string,
  ): Promise<T | undefined> {
    const namespace = this.#namespace;
    try {
      return await this.#target.client.find(resource, { namespace, name }, { signal: this.#io.signal });
    } catch (error) {
      if (isReason(error, "NotFound")) return undefined;
      throw explained(error, { verb: "get", resource: plural, namespace, server: this.#target.server });
    }
  }
}

class LocalUsers implements UserSource {
  readonly #target: LocalTarget;
  readonly #io: CliIo;

  constructor(target: LocalTarget, io: CliIo) {
    this.#target = target;
    this.#io = io;
  }

  async user(name: string): Promise<EtcdUser | undefined> {
    const { layout, seams } = await this.#place();
    return (await new AuthStore("EtcdUser", layout, seams).get(name)) as EtcdUser | undefined;
  }

  howToAsk(): string {
    return `set spec.certificate to {} and apply it with: ${this.#target.command} local user apply -f <file>`;
  }

  async cluster({ spec }: EtcdUser): Promise<SecuredCluster> {
    const { layout, seams } = await this.#place();
    const stored = await new Store(layout, seams).cluster();
    if (!stored) throw new CommandError(EXIT.notFound, `there is no cluster in ${layout.dir}`);
    return { metadata: { name: spec.cluster }, spec: stored.spec };
  }

  async files({ metadata }: EtcdUser): Promise<ClientFiles | undefined> {
    const { layout, seams } = await this.#place();
    const pem = await seams.disk.read(layout.userCertificate(metadata.name));
    const ca = await seams.disk.read(new Authorities(layout, seams.disk, seams.pki).bundleFile("client"));
    // Both are in one file, the certificate first.
    const at = pem?.search(/-----BEGIN [A-Z ]*PRIVATE KEY-----/) ?? -1;
    if (pem === undefined || ca === undefined || at < 0) return undefined;
    return { certificate: pem.slice(0, at), key: pem.slice(at), ca };
  }

  async authority(): Promise<Authority | undefined> {
    const { layout, seams } = await this.#place();
    return await new Authorities(layout, seams.disk, seams.pki).get("client");
  }

  async #place() {
    const { layout } = await this.#target.onlyPlace();
    return { layout, seams: thisMachine(this.#io).seams };
  }
}
