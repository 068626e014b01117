/**
 * The CA of a plane with the rotation that it is in, as it is kept where its key is kept: in one Secret, or in one file,
 * so that a phase begins by a single write. What others are to trust and which CA signs follow from it. Of a CA of
 * somebody else's there is no key: its leaves are given.
 */
import { hash } from "node:crypto";
import { PkiError, type CertificateFacts, type KeyPair, type Pki } from "../seams/pki.ts";
import { splitBundle } from "./bundle.ts";
import { CA_LIFE_MS, caOf, CA_NOTICE, type Plane } from "./plan.ts";

/** As in the decision: Bundle, Reissue and Drop are the phases of a rotation, in this order. */
export type RotationPhase = "Steady" | "Bundle" | "Reissue" | "Drop";

const BEFORE: Readonly<Record<RotationPhase, RotationPhase>> = {
  Bundle: "Steady",
  Reissue: "Bundle",
  Drop: "Reissue",
  Steady: "Drop",
};

/**
 * How a rotation leaves its order, when what was asked for is asked for no more. Abort: the successor is dropped, before
 * anybody was given a leaf of it. Reverse: from Reissue back to Bundle, where the predecessor is the successor, and back
 * again; everybody trusts both by then. Replace: from any phase, where the one that signs has expired and nothing runs.
 */
export type Turn = "Begin" | "Abort" | "Reverse" | "Replace";

/** What of the rotation is kept beside the certificates. */
export interface RotationState {
  readonly phase: RotationPhase;
  /** When the phase began. */
  readonly since: number;
  /** Counts the CAs of the plane; part of their subjects, since a chain is built by subjects. */
  readonly generation: number;
  /** The UID of the operation that asked for it. */
  readonly operation?: string;
  /** It was in phase Reissue, and was turned back to Bundle. */
  readonly reversed?: true;
}

/** The CAs of a plane that come and go together. */
export interface CaSet {
  /** Those of what is shown to members; on the client plane, of clients. One of ours is a single one. */
  readonly certificate: string;
  readonly key?: string;
  /** Those of what members show, where they are others: on the client plane, of servers. */
  readonly servers?: string;
  /** Of somebody else, who gives the leaves. */
  readonly given?: true;
}

export interface Authority {
  /** Signs; the key is empty where it is lost, or never was here. */
  readonly signer: CaSet & KeyPair;
  /** The successor with its key in phase Bundle, the predecessor in Reissue and Drop. */
  readonly other?: CaSet;
  readonly rotation: RotationState;
}

export const NO_ROTATION: RotationState = { phase: "Steady", since: 0, generation: 1 };

/** CAs are named by the first digits of their fingerprints: enough to tell two of one cluster apart. */
export function caId(fingerprint: string): string {
  return fingerprint.slice(0, 16);
}

export interface Advance {
  readonly cluster: string;
  readonly plane: Plane;
  readonly to: RotationPhase;
  /** The one that signs, by whoever decided this. */
  readonly current: string;
  readonly now: number;
  readonly turn?: Turn;
  readonly operation?: string;
  /** What somebody else gives, to begin with; without it a CA of ours is made. */
  readonly successor?: CaSet;
  /** Of the successor. */
  readonly lifeMs?: number;
}

/** The authority in the next phase; the same one where it is there already, as after an answer that was lost. */
export async function advanced(pki: Pki, authority: Authority, step: Advance): Promise<Authority> {
  const { to, current, plane, turn } = step;
  const { phase } = authority.rotation;
  const where = `the ${plane} CA`;
  if (turn === "Replace")
    return idOf(pki, authority.signer, where) === current ? await replaced(pki, authority, step) : authority;
  if (phase === to) return authority;
  const before = turn === "Abort" ? "Bundle" : turn === "Reverse" ? REVERSED[to] : BEFORE[to];
  if (phase !== before || idOf(pki, authority.signer, where) !== current)
    throw new PkiError("invalid-request", where, `its rotation is in phase ${phase}, so ${to} cannot follow`);
  const { reversed: _turned, operation, ...rest } = authority.rotation;
  // One that is abandoned is no rotation for whoever asked for it.
  const asked = operation !== undefined && turn !== "Abort" ? { operation } : {};
  const rotation = { ...rest, phase: to, since: step.now, ...asked };
  const { signer, other } = authority;
  // Only what the two are to each other changes.
  if (turn === "Reverse")
    return { ...authority, rotation: { ...rotation, ...(to === "Bundle" && { reversed: true }) } };
  if (to === "Bundle") return await begun(pki, authority, step);
  if (to === "Steady") return { signer, rotation };
  if (!other) return { ...authority, rotation };
  if (to === "Drop") return { signer, other: withoutKey(other), rotation };
  // With its key it can sign again, should leaves that are given turn out not to be what was wanted.
  const former = other.given && signer.key !== "" ? signer : withoutKey(signer);
  return { signer: { ...other, key: other.key ?? "" }, other: former, rotation };
}

/** Whoever has a certificate of the former one has none that is valid. */
async function replaced(pki: Pki, authority: Authority, step: Advance): Promise<Authority> {
  const { other, rotation } = await begun(pki, authority, step);
  const { operation: _over, ...rest } = rotation;
  const signer = { key: "", ...other, certificate: other?.certificate ?? "" };
  return { signer, rotation: { ...rest, phase: "Steady" } };
}

const REVERSED: Readonly<Partial<Record<RotationPhase, RotationPhase>>> = {
  Bundle: "Reissue",
  Reissue: "Bundle",
};

function withoutKey({ key: _secret, ...rest }: CaSet): CaSet {
  return rest;
}

async function begun(pki: Pki, { signer, rotation }: Authority, step: Advance): Promise<Authority> {
  const { cluster, plane, now, operation, successor, lifeMs = CA_LIFE_MS } = step;
  const generation = rotation.generation + 1;
  const commonName = `${caOf(cluster, plane).commonName} ${generation}`;
  const state = {
    phase: "Bundle",
    since: now,
    generation,
    ...(operation !== undefined && { operation }),
  } as const;
  if (successor) return { signer, other: successor, rotation: state };
  const { certificate, key } = await pki.issueCa({ commonName, lifeMs });
  return { signer, other: { certificate, key }, rotation: state };
}

/** What a plane's leaves should come from: from us, or from somebody else, whose CAs are known unless nothing is read. */
export type Asked = { readonly by: "us" } | { readonly by: "others"; readonly offered: CaSet | undefined };

/** What has to become of the rotation so that the CA that is asked for signs; undefined where it goes its way. */
export function turnOf(pki: Pki, authority: Authority, asked: Asked): Exclude<Turn, "Replace"> | undefined {
  const { signer, other, rotation } = authority;
  if (asked.by === "others" && asked.offered === undefined) return undefined;
  const id = (ca: CaSet) => idOf(pki, ca, "a CA");
  const isRight = (ca: CaSet | undefined) =>
    ca !== undefined &&
    (asked.by === "us"
      ? !ca.given
      : ca.given === true && asked.offered !== undefined && id(ca) === id(asked.offered));
  switch (rotation.phase) {
    case "Steady":
      return isRight(signer) ? undefined : "Begin";
    case "Bundle":
      return isRight(other) ? undefined : rotation.reversed ? "Reverse" : "Abort";
    case "Reissue":
      return !isRight(signer) && isRight(other) ? "Reverse" : undefined;
    case "Drop":
      return undefined;
  }
}

/** Everything that anybody of the plane may be shown now: for clients, and for ourselves. The one that signs is first. */
export function bundleOf({ signer, other }: Pick<Authority, "signer" | "other">): string {
  return joined([signer, ...(other ? [other] : [])].map(shownBy));
}

/** Those of what members show. */
export function shownBy({ certificate, servers }: CaSet): string {
  return servers ?? certificate;
}

/** The CA file of a member whose record names these CAs; without names it is the one that signs. */
export function trustedBy(
  pki: Pki,
  { signer, other }: Authority,
  ids: readonly string[] | undefined,
): string {
  const all = [signer, ...(other ? [other] : [])];
  const texts = (sets: readonly CaSet[]) => joined(sets.map(({ certificate }) => certificate));
  if (ids === undefined) return texts(all.slice(0, 1));
  const named = all.filter((ca) => ids.includes(idOf(pki, ca, "a CA")));
  // A CA that is named and gone was taken away by hand: whoever starts has to find those that are left.
  return texts(named.length > 0 ? named : all);
}

/** The newer of two while they are rotated: what everybody has to be seen to accept. */
export function newerCaOf({ signer, other, rotation: { phase } }: Authority): (CaSet & KeyPair) | undefined {
  if (phase === "Steady") return undefined;
  if (phase !== "Bundle") return signer;
  return other && { ...other, key: other.key ?? "" };
}

/** Of a single CA it is made from its fingerprint, of several from all of theirs. */
export function idOf(pki: Pki, ca: CaSet | string, where: string): string {
  const { certificate, servers } = typeof ca === "string" ? { certificate: ca } : ca;
  const [accepted, shown] = [fingerprints(pki, certificate, where), fingerprints(pki, servers ?? "", where)];
  const [only] = accepted;
  if (
    only !== undefined &&
    accepted.length === 1 &&
    (shown.length === 0 || (shown.length === 1 && shown[0] === only))
  )
    return caId(only);
  return caId(hash("sha256", `${accepted.join()} ${(shown.length === 0 ? accepted : shown).join()}`));
}

/** In whatever order they are written. */
function fingerprints(pki: Pki, bundle: string, where: string): string[] {
  const all = splitBundle(bundle);
  // What is no certificate is told by who reads it.
  const texts = all.length === 0 && bundle !== "" ? [bundle] : all;
  const found = texts.map((text) => pki.inspect({ certificate: { text, where } }).fingerprint);
  return [...new Set(found)].toSorted();
}

/** By which of the two a CA of this fingerprint is known, as far as members show what it issued. */
export function nameIn(pki: Pki, { signer, other, rotation }: Authority, fingerprint: string): string {
  const both = other ? (rotation.phase === "Bundle" ? [other, signer] : [signer, other]) : [signer];
  const found = both.find((ca) => fingerprints(pki, shownBy(ca), "a CA").includes(fingerprint));
  return found ? idOf(pki, found, "a CA") : caId(fingerprint);
}

/** When a CA should be replaced: a part of its life before its end, or earlier where leaves live longer; never in its first half. */
export function rotateAt({ notBefore, notAfter }: CertificateFacts, leafLifeMs: number): number {
  const life = notAfter - notBefore;
  return notAfter - Math.min(Math.max(life * CA_NOTICE, leafLifeMs), life / 2);
}

interface Facts {
  readonly current: string;
  readonly phase: RotationPhase;
  readonly other?: string;
  readonly since: number;
  readonly expiresAt: number;
  readonly rotateAt: number;
  readonly operation?: string;
  readonly given?: true;
  readonly otherGiven?: true;
}

/** As the decision sees it. Whoever gives a CA replaces it. */
export function authorityFacts(pki: Pki, { signer, other, rotation }: Authority, leafLifeMs: number): Facts {
  const facts = pki.inspect({ certificate: { text: signer.certificate, where: "a CA" } });
  const { phase, since, operation } = rotation;
  return {
    current: idOf(pki, signer, "a CA"),
    phase,
    ...(other && { other: idOf(pki, other, "a CA") }),
    since,
    expiresAt: signer.given ? lastEnd(pki, signer) : facts.notAfter,
    rotateAt: signer.given ? Infinity : rotateAt(facts, leafLifeMs),
    ...(operation !== undefined && { operation }),
    ...(signer.given && { given: true }),
    ...(other?.given && { otherGiven: true }),
  };
}

/** Of several, the last one that ends: while one is valid, certificates of it may be. Each side needs one. */
function lastEnd(pki: Pki, { certificate, servers = certificate }: CaSet): number {
  const ends = [certificate, servers].map((bundle) => {
    const all = splitBundle(bundle);
    const texts = all.length === 0 ? [bundle] : all;
    return Math.max(...texts.map((text) => pki.inspect({ certificate: { text, where: "a CA" } }).notAfter));
  });
  return Math.min(...ends);
}

const PHASES: readonly string[] = Object.keys(BEFORE);

/** From the text that was written beside the certificates; undefined when it is none of ours. */
export function readRotation(text: string): RotationState | undefined {
  try {
    const state = JSON.parse(text) as Partial<RotationState>;
    const { phase = "", since, generation, operation, reversed } = state;
    const isOurs = PHASES.includes(phase) && typeof since === "number" && typeof generation === "number";
    if (!isOurs) return undefined;
    return {
      phase: phase as RotationPhase,
      since,
      generation,
      ...(typeof operation === "string" && { operation }),
      ...(reversed === true && { reversed }),
    };
  } catch {
    return undefined;
  }
}

/** The rotation as text, with which of the two is given. */
export function noteOf({ signer, other, rotation }: Authority): string {
  const given = { ...(signer.given && { given: true }), ...(other?.given && { otherGiven: true }) };
  return JSON.stringify({ ...rotation, ...given });
}

/** Which of the two are given, from such a text. */
export function givenIn(text: string): { readonly given?: true; readonly otherGiven?: true } {
  const { given, otherGiven } = JSON.parse(text) as { given?: unknown; otherGiven?: unknown };
  return { ...(given === true && { given }), ...(otherGiven === true && { otherGiven }) };
}

/** One text out of CA certificates, each once. */
function joined(certificates: readonly string[]): string {
  const single = certificates.flatMap((text) => {
    const all = splitBundle(text);
    return all.length > 1 ? all : [`${text.trimEnd()}\n`];
  });
  return [...new Set(single)].join("");
}
