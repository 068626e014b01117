/**
 * The CAs of a local cluster as files. The first CA of a plane is two files; from its first rotation on a third one
 * holds the CA with its rotation, and is the truth, because a phase has to begin by one write. The two stay, for whoever
 * reads them: the bundle that clients trust, with the CA that signs first, and the key of that one.
 */
import path from "node:path";
import {
  advanced,
  authorityFacts,
  bundleOf,
  NO_ROTATION,
  readRotation,
  type Advance,
  type Authority,
} from "../pki/authority.ts";
import { caOf, PLANES, type Plane } from "../pki/plan.ts";
import type { AuthorityFacts } from "../core/observation.ts";
import type { Disk } from "../seams/disk.ts";
import { PkiError, type Pki } from "../seams/pki.ts";
import type { Layout } from "./layout.ts";

export class Authorities {
  readonly #layout: Layout;
  readonly #disk: Disk;
  readonly #pki: Pki;
  readonly #known = new Map<Plane, Authority>();
  /** Whose bundle is in the file for clients. */
  readonly #published = new Map<Plane, Authority>();

  constructor(layout: Layout, disk: Disk, pki: Pki) {
    this.#layout = layout;
    this.#disk = disk;
    this.#pki = pki;
  }

  /** What clients trust. */
  bundleFile(plane: Plane): string {
    return this.#file(`ca-${plane}.crt`);
  }

  keyFile(plane: Plane): string {
    return this.#file(`ca-${plane}.key`);
  }

  /** Undefined while there is none. */
  async get(plane: Plane): Promise<Authority | undefined> {
    const known = this.#known.get(plane) ?? (await this.#read(plane));
    if (known) this.#known.set(plane, known);
    return known;
  }

  /** The one that there is, or a new one; true when files were written. */
  async ensure(
    cluster: string,
    plane: Plane,
    lifeMs: number,
  ): Promise<{ authority: Authority; changed: boolean }> {
    const found = await this.get(plane);
    if (found) return { authority: found, changed: await this.#publish(plane, found) };
    const { certificate, key } = await this.#pki.issueCa(caOf(cluster, plane, lifeMs));
    const authority: Authority = { signer: { certificate, key }, rotation: NO_ROTATION };
    await this.#publish(plane, authority);
    this.#known.set(plane, authority);
    return { authority, changed: true };
  }

  async advance(step: Advance): Promise<void> {
    const before = await this.get(step.plane);
    if (!before)
      throw new PkiError("invalid-request", this.bundleFile(step.plane), "there is no CA to be rotated");
    const after = await advanced(this.#pki, before, step);
    if (after === before) return;
    const text = `${JSON.stringify(after, undefined, 2)}\n`;
    await this.#disk.write(this.#stateFile(step.plane), text, { private: true });
    this.#known.set(step.plane, after);
  }

  /** For a cluster of which nobody runs: the next `ensure` makes another one. */
  async forget(plane: Plane): Promise<void> {
    await this.#disk.remove(this.#stateFile(plane));
    // The certificate first: without it the CA counts as not made.
    await this.#disk.remove(this.bundleFile(plane));
    await this.#disk.remove(this.keyFile(plane));
    this.#known.delete(plane);
    this.#published.delete(plane);
  }

  /** Of the planes that have one. */
  async facts(planes: readonly Plane[], leafMs: number): Promise<Partial<Record<Plane, AuthorityFacts>>> {
    const found: Partial<Record<Plane, AuthorityFacts>> = {};
    for (const plane of PLANES.filter((one) => planes.includes(one))) {
      try {
        const authority = await this.get(plane);
        if (authority) found[plane] = authorityFacts(this.#pki, authority, leafMs);
      } catch (error) {
        // What is wrong with it is told where certificates are issued.
        if (!(error instanceof PkiError)) throw error;
      }
    }
    return found;
  }

  async #read(plane: Plane): Promise<Authority | undefined> {
    const [state, certificate, key = ""] = await Promise.all([
      this.#disk.read(this.#stateFile(plane)),
      this.#disk.read(this.bundleFile(plane)),
      this.#disk.read(this.keyFile(plane)),
    ]);
    if (state !== undefined) return parsed(state, this.#stateFile(plane));
    return certificate === undefined ? undefined : { signer: { certificate, key }, rotation: NO_ROTATION };
  }

  /** The certificate is written last: with it there the CA is whole, without it nobody has used the key. */
  async #publish(plane: Plane, authority: Authority): Promise<boolean> {
    if (this.#published.get(plane) === authority) return false;
    const bundle = bundleOf(authority);
    const found = await this.#disk.read(this.bundleFile(plane));
    // What was there before the first rotation is the CA itself.
    if (found === bundle || (found !== undefined && authority.rotation === NO_ROTATION)) {
      this.#published.set(plane, authority);
      return false;
    }
    await this.#disk.makeDirectory(this.#layout.pki);
    await this.#disk.write(this.keyFile(plane), authority.signer.key, { private: true });
    await this.#disk.write(this.bundleFile(plane), bundle);
    this.#published.set(plane, authority);
    return true;
  }

  #stateFile(plane: Plane): string {
    return this.#file(`authority-${plane}.json`);
  }

  #file(name: string): string {
    return path.join(this.#layout.pki, name);
  }
}

function parsed(text: string, where: string): Authority {
  const damaged = () => new PkiError("unreadable-certificate", where, "is damaged; restore it from a backup");
  let found: Partial<Authority>;
  try {
    found = JSON.parse(text) as Partial<Authority>;
  } catch {
    throw damaged();
  }
  const { signer, other } = found;
  const rotation = readRotation(JSON.stringify(found.rotation ?? null));
  if (typeof signer?.certificate !== "string" || typeof signer.key !== "string" || !rotation) throw damaged();
  if (other !== undefined && typeof other.certificate !== "string") throw damaged();
  return { signer, ...(other && { other }), rotation };
}
