/** What we dial etcd with, from the operator's own Secret of a cluster; it is replaced there when it is due. */
import type { ClusterFacts } from "../../core/observation.ts";
import { isControlledBy } from "../../kube/resources.ts";
import type { Pki } from "../../seams/pki.ts";
import { textIn } from "../apply/secret-files.ts";
import { secretNames } from "../names.ts";
import type { EtcdReach } from "../reach/reach.ts";
import type { Stores } from "./stores.ts";

export interface CredentialsOptions {
  readonly key: string;
  readonly stores: Stores;
  readonly reach: Pick<EtcdReach, "setCredentials">;
  readonly pki: Pki;
}

export class Credentials {
  readonly #options: CredentialsOptions;
  #version = "";
  #commonName: string | undefined;

  constructor(options: CredentialsOptions) {
    this.#options = options;
  }

  /** Of the certificate in use. */
  get commonName(): string | undefined {
    return this.#commonName;
  }

  use(cluster: ClusterFacts): void {
    const { stores, reach, pki } = this.#options;
    const { operator } = secretNames(cluster.name);
    const { secrets } = stores.ownObjects(this.#options.key);
    const secret = secrets.find(({ metadata }) => metadata?.name === operator);
    if (!secret || !isControlledBy(secret, cluster.uid)) return;
    const version = `${secret.metadata?.uid} ${secret.metadata?.resourceVersion}`;
    const [ca, cert, key] = ["ca.crt", "tls.crt", "tls.key"].map((file) => textIn(secret, file));
    if (version === this.#version || !ca || !cert || !key) return;
    this.#version = version;
    try {
      reach.setCredentials({ ca, cert, key });
      this.#commonName = pki.inspect({
        certificate: { text: cert, where: `Secret ${operator}` },
      }).commonName;
    } catch {
      // Somebody wrote nonsense there: the certificates are looked at on this very pass, and issued anew.
    }
  }
}
