/**
 * Keeping certificates: what is in place is judged, made anew when it has to be, and remembered until it is due. The
 * same wherever they are stored, in files or in Secrets: each leaf comes with its place.
 */
import { hash } from "node:crypto";
import { PkiError, type KeyPair, type LeafSpec, type Pem, type Pki } from "../seams/pki.ts";
import { judgeLeaf, serves, type Found, type Plane } from "./plan.ts";
import type { Source } from "./source.ts";

/** What certificates are judged and issued by. */
export interface CertificateTime {
  now(): number;
  /** Why none may be issued now: our clock and another's contradict each other. */
  readonly contradiction?: string | undefined;
}

interface Pace {
  /** A leaf that is due and cannot be renewed is looked at again this late, not on every pass. */
  readonly retryMs: number;
  /** Where nobody tells of changes, what is in place is looked at again this late. */
  readonly recheckMs?: number;
}

/** Where a leaf is stored. */
export interface Place {
  /** What is there; one and the same where one text holds both. */
  readonly certificate: Pem | undefined;
  readonly key: Pem | undefined;
  /** Puts a new one there. Without it the caller does, and what is there then is judged again. */
  readonly write?: (pair: KeyPair) => Promise<void>;
}

/** A leaf that should be made anew and cannot be has a problem; the pair in place may serve for a while. */
export interface Leaf {
  readonly pair?: KeyPair;
  readonly issued?: boolean;
  readonly problem?: string;
}

interface Checked {
  /** By a hash: the texts of a few hundred clusters would hold megabytes. */
  readonly asked: string;
  readonly until: number;
}

/** The certificates of one cluster. The name of a leaf is unique among those that should not renew together. */
export class Keeper {
  readonly #pki: Pki;
  readonly #time: CertificateTime;
  readonly #pace: Pace;
  readonly #sources = new Map<Plane, Source>();
  readonly #checked = new Map<string, Checked>();
  readonly #ends = new Map<string, number>();
  readonly #problems = new Map<string, string>();

  constructor(pki: Pki, time: CertificateTime, pace: Pace) {
    this.#pki = pki;
    this.#time = time;
    this.#pace = pace;
  }

  /** Leaves of this plane come from here; without a source none can be issued. */
  use(plane: Plane, source: Source | undefined): void {
    if (source === undefined) this.#sources.delete(plane);
    else this.#sources.set(plane, source);
  }

  source(plane: Plane): Source | undefined {
    return this.#sources.get(plane);
  }

  get problems(): readonly string[] {
    return [...this.#problems.values()];
  }

  problem(of: string): string | undefined {
    return this.#problems.get(of);
  }

  report(of: string, problem: string | undefined): void {
    if (problem === undefined) this.#problems.delete(of);
    else this.#problems.set(of, problem);
  }

  /** When the next leaf is due; undefined when none is known. */
  get lookAgainAt(): number | undefined {
    const due = [...this.#checked.values()].map(({ until }) => until);
    return due.length === 0 ? undefined : Math.min(...due);
  }

  /** Until when looking at a leaf finds nothing new. */
  checkedUntil(name: string): number | undefined {
    return this.#checked.get(name)?.until;
  }

  /** When the first of these ends. */
  expiry(names: readonly string[]): number | undefined {
    const ends = names.flatMap((name) => this.#ends.get(name) ?? []);
    return ends.length === 0 ? undefined : Math.min(...ends);
  }

  forget(name: string): void {
    for (const known of [this.#checked, this.#ends, this.#problems]) known.delete(name);
  }

  async leaf(name: string, plane: Plane, wanted: LeafSpec, place: Place): Promise<Leaf> {
    const { certificate, key, write } = place;
    const source = this.#sources.get(plane);
    if (!source) return { problem: `no ${plane} CA` };
    const now = this.#time.now();
    const pair = certificate &&
      key && { certificate: certificate.text, key: key === certificate ? "" : key.text };
    const asked = hash(
      "sha256",
      JSON.stringify([wanted, source.ca.fingerprint, certificate?.text, key?.text]),
    );
    const checked = this.#checked.get(name);
    if (pair && checked?.asked === asked && now < checked.until) return { pair };
    const found = this.#find(certificate, key, source.trust);
    const verdict = judgeLeaf({ name, wanted, found, ca: source.ca, now });
    const { contradiction } = this.#time;
    if (verdict.kind === "blocked" || (verdict.kind === "issue" && contradiction !== undefined)) {
      const problem = verdict.kind === "issue" ? `${verdict.message}. ${contradiction}` : verdict.message;
      const mayServe = pair && found.kind === "present";
      this.#remember(name, mayServe && { asked, until: now + this.#pace.retryMs });
      this.#problems.set(name, problem);
      return { problem, ...(mayServe && { pair }) };
    }
    const issued = verdict.kind === "issue" ? await source.obtain(wanted) : undefined;
    if (issued && write) await write(issued);
    const due = verdict.kind === "keep" ? verdict.lookAgainAt : Infinity;
    const until = Math.min(due, now + (this.#pace.recheckMs ?? Infinity));
    this.#remember(name, (!issued || write) && { asked, until });
    this.#problems.delete(name);
    if (found.kind === "present") this.#ends.set(name, found.facts.notAfter);
    if (issued === undefined) return { pair };
    this.#ends.set(name, issued.notAfter);
    return { pair: issued, issued: true };
  }

  /** Whether a leaf would serve now, due or not, judged by the CA next to it: only issuing takes a source. */
  serves(name: string, pem: Pem, trust: Pem): boolean {
    const found = this.#find(pem, pem, trust);
    if (found.kind === "present") this.#ends.set(name, found.facts.notAfter);
    return serves(found, this.#time.now());
  }

  #remember(name: string, checked: Checked | false | undefined): void {
    if (checked) this.#checked.set(name, checked);
    else this.#checked.delete(name);
  }

  /** What is where a leaf should be. */
  #find(certificate: Pem | undefined, key: Pem | undefined, trust: Pem): Found {
    if (certificate === undefined) return { kind: "absent" };
    try {
      return { kind: "present", facts: this.#pki.inspect({ certificate, ...(key && { key }), trust }) };
    } catch (error) {
      if (!(error instanceof PkiError)) throw error;
      return { kind: "unreadable", message: error.message };
    }
  }
}
