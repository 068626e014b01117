/**
 * Keeping certificates: what is in place is judged, made anew when it has to be, and remembered until it is due. The
 * same wherever they are stored, in files or in Secrets: each leaf comes with its place.
 */
import { hash } from "node:crypto";
import {
  PkiError,
  type CertificateFacts,
  type KeyPair,
  type LeafSpec,
  type Pem,
  type Pki,
} from "../seams/pki.ts";
import { flawsOf } from "./given.ts";
import { judgeLeaf, serves, type Found, type Plane } from "./plan.ts";
import type { Given, Keeping, Problem, ProblemReason, Signing, Source } from "./source.ts";

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

/** A given leaf that was judged: it can be used, or why not. */
type Offered =
  | { readonly problem: Problem; readonly given?: never; readonly notAfter?: never }
  | { readonly problem?: never; readonly given: KeyPair; readonly notAfter: number };

/** What is in a place, where it is whole. */
function pairIn({ certificate, key }: Place): KeyPair | undefined {
  return certificate && key && { certificate: certificate.text, key: key === certificate ? "" : key.text };
}

/** Another PEM block may follow. */
function ended(text: string): string {
  return text.endsWith("\n") ? text : `${text}\n`;
}

/** The certificates of one cluster. The name of a leaf is unique among those that should not renew together. */
export class Keeper {
  readonly #pki: Pki;
  readonly #time: CertificateTime;
  readonly #pace: Pace;
  readonly #sources = new Map<Plane, Source>();
  readonly #checked = new Map<string, Checked>();
  readonly #ends = new Map<string, number>();
  readonly #problems = new Map<string, Problem>();

  constructor(pki: Pki, time: CertificateTime, pace: Pace) {
    this.#pki = pki;
    this.#time = time;
    this.#pace = pace;
  }

  /** Leaves of this plane come from here; without a source none can be issued. */
  use(plane: Plane, source: Source | undefined): void {
    if (source === undefined) {
      this.#sources.delete(plane);
      return;
    }
    const before = this.#sources.get(plane);
    this.#sources.set(plane, source);
    // Another signer: what was found good is not any more, whenever it would have been looked at again.
    const isOther = before?.kind === "signs" && source.kind === "signs";
    if (isOther && before.ca.fingerprint !== source.ca.fingerprint) this.#checked.clear();
    const cas = source.kind === "signs" ? [source.ca] : this.#authorities([source.trust, source.accepts]);
    this.#ends.set(`${plane} CA`, Math.min(...cas.map(({ notAfter }) => notAfter)));
  }

  /** CAs that a source gives have been read before. */
  #authorities(pems: readonly Pem[]): CertificateFacts[] {
    return pems.map((certificate) => this.#pki.inspect({ certificate }));
  }

  /** When each certificate ends that is known here, by name. */
  get ends(): readonly { readonly name: string; readonly expires: number }[] {
    return [...this.#ends]
      .map(([name, expires]) => ({ name, expires }))
      .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  source(plane: Plane): Source | undefined {
    return this.#sources.get(plane);
  }

  /** The key is what is at fault: one certificate may be that of all members. */
  get problems(): readonly { readonly key: string; readonly message: string }[] {
    return [...this.#problems].map(([name, { of = name, reason, message }]) => ({
      key: reason === undefined ? of : `${of} ${reason}`,
      message,
    }));
  }

  /** Of the first problem that has one. */
  get reason(): ProblemReason | undefined {
    return [...this.#problems.values()].find(({ reason }) => reason !== undefined)?.reason;
  }

  problem(of: string): string | undefined {
    return this.#problems.get(of)?.message;
  }

  problemOf(of: string): Problem | undefined {
    return this.#problems.get(of);
  }

  report(of: string, problem: string | Problem | undefined): void {
    if (problem === undefined) this.#problems.delete(of);
    else this.#problems.set(of, typeof problem === "string" ? { message: problem } : problem);
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

  /** The leaf that should be in this place: what is there if it will do, else another one. */
  async leaf(name: string, plane: Plane, wanted: LeafSpec, place: Place): Promise<Leaf> {
    const source = this.#sources.get(plane);
    if (!source) {
      // What is told then is told of the plane.
      this.#problems.delete(name);
      return { problem: `no ${plane} CA` };
    }
    switch (source.kind) {
      case "signs":
        return await this.#signed(name, source, wanted, place);
      case "gives":
        return await this.#taken(name, source, wanted, place);
      case "keeps":
        return this.#kept(name, source, wanted, place);
    }
  }

  /** What keeps a given leaf from being used for this; undefined when nothing does, or where we sign ourselves. */
  unusable(name: string, plane: Plane, wanted: LeafSpec): Problem | undefined {
    const source = this.#sources.get(plane);
    if (source?.kind === "keeps") return this.#spare(name, source, wanted) ? undefined : source.why;
    return source?.kind === "gives" ? this.flawOf(name, source, wanted) : undefined;
  }

  /** What keeps this leaf of a source from being used, whether or not leaves come from there now. */
  flawOf(name: string, source: Given, wanted: LeafSpec): Problem | undefined {
    return this.#offered(name, source, wanted).problem;
  }

  /** What is in place, as long as it serves; else the same from elsewhere. */
  #kept(name: string, source: Keeping, wanted: LeafSpec, place: Place): Leaf {
    this.#checked.delete(name);
    const { certificate, key } = place;
    // What members show and what clients show may be of two CAs.
    const either = { ...source.trust, text: ended(source.trust.text) + source.accepts.text };
    const found = this.#find(certificate, key, either);
    if (found.kind === "present") this.#ends.set(name, found.facts.notAfter);
    const pair = pairIn(place);
    if (pair && serves(found, this.#time.now())) {
      this.#problems.delete(name);
      return { pair };
    }
    const spare = this.#spare(name, source, wanted);
    if (spare) {
      this.#problems.delete(name);
      return { pair: spare, issued: true };
    }
    const problem = this.#whyNotKept(source, wanted, found);
    this.report(name, problem);
    return { problem: problem.message };
  }

  /**
   * One that is there and serves no more keeps members from each other, so that none of them comes to trust another CA. What
   * clients were given by a source before this one is in nobody's way.
   */
  #whyNotKept({ why }: Keeping, wanted: LeafSpec, found: Found): Problem {
    const isShown = wanted.usages.includes("serverAuth");
    if (found.kind === "present" && found.facts.issuedBy === undefined && !isShown) return why;
    const flaws = found.kind === "present" ? flawsOf(found.facts, wanted, this.#time.now()) : [];
    if (flaws.length === 0) return why;
    const message = `the certificate in use ${flaws.join("; it ")}: put back a renewed one of the previous CA, and change the CA after that. ${why.message}`;
    return { reason: "CertificateInvalid", message };
  }

  #spare(name: string, { spare, trust }: Keeping, wanted: LeafSpec): KeyPair | undefined {
    // It is what members show, with their key: nothing for those who only dial.
    const pem = wanted.usages.includes("serverAuth") ? spare?.(name) : undefined;
    const found = pem && this.#find(pem, pem, trust);
    const isUsable = found?.kind === "present" && flawsOf(found.facts, wanted, this.#time.now()).length === 0;
    return pem && isUsable ? { certificate: pem.text, key: "" } : undefined;
  }

  async #signed(name: string, source: Signing, wanted: LeafSpec, place: Place): Promise<Leaf> {
    const { certificate, key, write } = place;
    const now = this.#time.now();
    const pair = pairIn(place);
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
      this.report(name, problem);
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

  /** Copies what was given, once it was found to be usable; until then what is in place stays. */
  async #taken(name: string, source: Given, wanted: LeafSpec, place: Place): Promise<Leaf> {
    const now = this.#time.now();
    const { certificate, key, write } = place;
    const pair = pairIn(place);
    const { problem, given, notAfter } = this.#offered(name, source, wanted);
    this.report(name, problem);
    if (problem) {
      const found = this.#find(certificate, key, source.trust);
      const mayServe = pair && found.kind === "present";
      if (found.kind === "present") this.#ends.set(name, found.facts.notAfter);
      this.#checked.delete(name);
      return { problem: problem.message, ...(mayServe && { pair }) };
    }
    const texts = pair && [pair.certificate + pair.key, pair.key];
    const isThere = texts?.[0] === given.certificate + given.key && ["", given.key].includes(texts[1] ?? "");
    if (!isThere && write) await write(given);
    // That it expires shows without a change of anything else.
    const until = Math.min(notAfter, now + (this.#pace.recheckMs ?? Infinity));
    this.#remember(name, { asked: "", until });
    this.#ends.set(name, notAfter);
    return isThere ? { pair } : { pair: given, issued: true };
  }

  #offered(name: string, source: Given, wanted: LeafSpec): Offered {
    const offer = source.find(name);
    if ("problem" in offer) return offer;
    const found = this.#find(offer.certificate, offer.key, offer.trust);
    const invalid = (message: string) => ({
      problem: { reason: "CertificateInvalid" as const, of: offer.certificate.where, message },
    });
    if (found.kind === "absent") return invalid(`${offer.certificate.where}: is empty`);
    if (found.kind === "unreadable") return invalid(found.message);
    const flaws = flawsOf(found.facts, wanted, this.#time.now());
    if (flaws.length > 0)
      return invalid(`${offer.certificate.where}: the certificate ${flaws.join("; it ")}`);
    const given = { certificate: ended(offer.certificate.text), key: ended(offer.key.text) };
    return { given, notAfter: found.facts.notAfter };
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
