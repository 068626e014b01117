/**
 * Backups of etcd-cloud-operator, as it leaves them in a bucket or directory: a copy of the database without the hash
 * that etcd puts at the end of a snapshot, and all that is known of it in its name.
 */
import { createHash } from "node:crypto";

export interface EcoName {
  readonly member: string;
  /** Read shortly before the copy was made: the copy may hold a little more. */
  readonly revision: number;
}

const FORM = /^(?<member>.+)_(?<revision>[0-9a-f]{16})_etcd\.backup$/;

/** Undefined for a name that it does not give. */
export function ecoName(object: string): EcoName | undefined {
  const found = FORM.exec(object.slice(object.lastIndexOf("/") + 1))?.groups;
  if (found === undefined) return undefined;
  const { member = "", revision = "" } = found;
  return { member, revision: Number.parseInt(revision, 16) };
}

/** A copied database as the snapshot that etcd would have sent: the same bytes, and their hash at the end. */
export class HashedDatabase implements AsyncIterable<Uint8Array> {
  readonly #chunks: AsyncIterable<Uint8Array>;
  #sha256: string | undefined;

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#chunks = chunks;
  }

  /** Of the database alone, as `sha256sum` prints it of the object; after the last chunk. */
  get sha256(): string | undefined {
    return this.#sha256;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    const hash = createHash("sha256");
    for await (const chunk of this.#chunks) {
      hash.update(chunk);
      yield chunk;
    }
    const digest = hash.digest();
    this.#sha256 = digest.toString("hex");
    yield digest;
  }
}
