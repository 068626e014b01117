/** Where the members of a cluster are dialled: by the Pod's address, so that nothing waits for DNS. */
import { clientScheme } from "../../core/config/flags.ts";
import type { ClusterFacts } from "../../core/observation.ts";
import type { MemberRecord } from "../../core/record.ts";
import type { Endpoint } from "../../seams/etcd-transport.ts";
import type { Stores } from "../cache/stores.ts";
import { hostOf, PORTS } from "../names.ts";
import { healthPaths } from "../render/health.ts";

export class Addresses {
  readonly #stores: Stores;
  /** Undefined before the first read. */
  readonly #facts: () => ClusterFacts | undefined;

  constructor(stores: Stores, facts: () => ClusterFacts | undefined) {
    this.#stores = stores;
    this.#facts = facts;
  }

  /** The certificate is checked by the member's name. */
  client({ name, template }: MemberRecord): Endpoint {
    const facts = this.#facts();
    const serverName = facts && hostOf(facts, name);
    return {
      name,
      url: `${clientScheme(template.tls)}://${this.#host(name)}:${PORTS.client}`,
      ...(serverName && { serverName }),
    };
  }

  /** Of one that has a certificate for clients: where it shows it. */
  secureClient(record: MemberRecord): Endpoint {
    return { ...this.client(record), url: `https://${this.#host(record.name)}:${PORTS.client}` };
  }

  peer(record: MemberRecord): Endpoint {
    return { ...this.client(record), url: `https://${this.#host(record.name)}:${PORTS.peer}` };
  }

  metricsURL({ name }: Pick<MemberRecord, "name">): string {
    return `http://${this.#host(name)}:${PORTS.metrics}`;
  }

  /** As its kubelet asks. */
  readyURL(record: MemberRecord): string {
    return `${this.metricsURL(record)}${healthPaths(record.template.version, record).ready}`;
  }

  /** A Pod's address as it stands in a URL. */
  #host(member: string): string {
    const address = this.#stores.pod(`${this.#facts()?.namespace}/${member}`)?.status?.podIP ?? "127.0.0.1";
    return address.includes(":") ? `[${address}]` : address;
  }
}
