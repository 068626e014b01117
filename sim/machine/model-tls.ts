/**
 * Whom a process of the model trusts and what it shows, plane by plane: CAs as they were in its file when it started, its
 * certificate as it is in its file now (R45). Peers that do not accept each other's certificates are apart.
 */
import type { Plane } from "../../src/core/observation.ts";
import type { Server } from "../models/etcd/server.ts";
import { issuerIn } from "./model-pki.ts";

export interface PlaneFiles {
  /** What was in its CA file at its start; undefined where it asks for no certificate. */
  readonly trusted: string | undefined;
  readonly shown: () => string | undefined;
}

export class ModelTls {
  readonly #files = new WeakMap<Server, Readonly<Record<Plane, PlaneFiles>>>();

  started(server: Server, files: Readonly<Record<Plane, PlaneFiles>>): void {
    this.#files.set(server, files);
  }

  shown(server: Server, plane: Plane): string | undefined {
    return this.#files.get(server)?.[plane].shown();
  }

  accepts(server: Server, plane: Plane, certificate: string): boolean {
    const trusted = this.#files.get(server)?.[plane].trusted;
    return trusted === undefined || issuerIn(certificate, trusted) !== undefined;
  }

  /** Two processes of which one does not accept the other. */
  apart(a: Server, b: Server): boolean {
    const [ofA, ofB] = [this.shown(a, "peer"), this.shown(b, "peer")];
    if (ofA === undefined || ofB === undefined) return false;
    return !this.accepts(a, "peer", ofB) || !this.accepts(b, "peer", ofA);
  }
}
