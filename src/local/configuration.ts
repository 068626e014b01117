/**
 * etcd's configuration files. Rewritten whenever the record says something else, also while the member
 * runs: it reads the file only at its start, and then the file must be the true one (I3, H3).
 */
import { signingKey } from "../core/auth/token.ts";
import { etcdConfig, isSecure } from "../core/config/flags.ts";
import type { MemberRecord } from "../core/record.ts";
import type { Disk } from "../seams/disk.ts";
import type { Certificates } from "./certificates.ts";
import type { Layout } from "./layout.ts";

export class Configuration {
  readonly #layout: Layout;
  readonly #disk: Disk;
  readonly #certificates: Certificates;
  /** What each file holds, as far as we know. */
  readonly #written = new Map<string, string>();

  constructor(layout: Layout, disk: Disk, certificates: Certificates) {
    this.#layout = layout;
    this.#disk = disk;
    this.#certificates = certificates;
  }

  /** `established`: this life's cluster was seen to exist, so nobody starts as `new` any more. */
  async write(record: MemberRecord, established: boolean): Promise<void> {
    const { name } = record;
    const { tls } = record.template;
    const [server, peer] = [
      this.#certificates.memberFiles(record, "client"),
      this.#certificates.memberFiles(record, "peer"),
    ];
    await this.#certificates.writeTrust(record);
    const key = signingKey(record.template);
    const config = etcdConfig(record, {
      established,
      paths: {
        dataDir: this.#layout.volume(name).data,
        ...(isSecure(tls, "client") && {
          serverPem: server.pem,
          gatewayPem: this.#certificates.gatewayFile(name),
          clientCA: server.ca,
        }),
        ...(isSecure(tls, "peer") && { peerPem: peer.pem, peerCA: peer.ca }),
        ...(key !== undefined && { tokenKey: this.#layout.tokenKey(key) }),
      },
    });
    const text = `${JSON.stringify(config, undefined, 2)}\n`;
    const file = this.#layout.configOf(name);
    const known = this.#written.get(name) ?? (await this.#disk.read(file));
    if (known !== text) {
      await this.#disk.makeDirectory(this.#layout.config);
      await this.#disk.write(file, text, { private: true });
    }
    this.#written.set(name, text);
  }

  async remove(name: string): Promise<void> {
    this.#written.delete(name);
    await this.#disk.remove(this.#layout.configOf(name));
  }
}
