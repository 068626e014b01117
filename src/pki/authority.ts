/**
 * The CA of a plane with the rotation that it is in, as it is kept where its key is kept: in one Secret, or in one file,
 * so that a phase begins by a single write. What others are to trust and which CA signs follow from it.
 */
import { PkiError, type CertificateFacts, type KeyPair, type Pki } from "../seams/pki.ts";
import { CA_LIFE_MS, caOf, CA_NOTICE, type Plane } from "./plan.ts";

/** As in the decision: Bundle, Reissue and Drop are the phases of a rotation, in this order. */
export type RotationPhase = "Steady" | "Bundle" | "Reissue" | "Drop";

const BEFORE: Readonly<Record<RotationPhase, RotationPhase>> = {
  Bundle: "Steady",
  Reissue: "Bundle",
  Drop: "Reissue",
  Steady: "Drop",
};

/** What of the rotation is kept beside the certificates. */
export interface RotationState {
  readonly phase: RotationPhase;
  /** When the phase began. */
  readonly since: number;
  /** Counts the CAs of the plane; part of their subjects, since a chain is built by subjects. */
  readonly generation: number;
  /** The UID of the operation that asked for it. */
  readonly operation?: string;
}

export interface Authority {
  /** Signs; the key is empty where it is lost. */
  readonly signer: KeyPair;
  /** The successor with its key in phase Bundle, the predecessor in Reissue and Drop. */
  readonly other?: { readonly certificate: string; readonly key?: string };
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
  readonly operation?: string;
  /** Of the successor. */
  readonly lifeMs?: number;
}

/** The authority in the next phase; the same one where it is there already, as after an answer that was lost. */
export async function advanced(pki: Pki, authority: Authority, step: Advance): Promise<Authority> {
  const { to, current, plane } = step;
  const { phase } = authority.rotation;
  const where = `the ${plane} CA`;
  if (phase === to) return authority;
  if (phase !== BEFORE[to] || idOf(pki, authority.signer.certificate, where) !== current)
    throw new PkiError("invalid-request", where, `its rotation is in phase ${phase}, so ${to} cannot follow`);
  const rotation = { ...authority.rotation, phase: to, since: step.now };
  const { signer, other } = authority;
  if (to === "Bundle") return await begun(pki, authority, step);
  if (to === "Steady") return { signer, rotation };
  if (to === "Drop" || !other) return { ...authority, rotation };
  const { certificate, key = "" } = other;
  return { signer: { certificate, key }, other: { certificate: signer.certificate }, rotation };
}

async function begun(pki: Pki, { signer, rotation }: Authority, step: Advance): Promise<Authority> {
  const { cluster, plane, now, operation, lifeMs = CA_LIFE_MS } = step;
  const generation = rotation.generation + 1;
  const commonName = `${caOf(cluster, plane).commonName} ${generation}`;
  const { certificate, key } = await pki.issueCa({ commonName, lifeMs });
  const state = {
    phase: "Bundle",
    since: now,
    generation,
    ...(operation !== undefined && { operation }),
  } as const;
  return { signer, other: { certificate, key }, rotation: state };
}

/** Everything that anybody of the plane may be shown now: for clients, and for ourselves. The one that signs is first. */
export function bundleOf({ signer, other }: Authority): string {
  return joined(other ? [signer.certificate, other.certificate] : [signer.certificate]);
}

/** The CA file of a member whose record names these CAs; without names it is the one that signs. */
export function trustedBy(pki: Pki, authority: Authority, ids: readonly string[] | undefined): string {
  const all = [authority.signer.certificate, ...(authority.other ? [authority.other.certificate] : [])];
  if (ids === undefined) return joined(all.slice(0, 1));
  const named = all.filter((text) => ids.includes(idOf(pki, text, "a CA")));
  // A CA that is named and gone was taken away by hand: whoever starts has to find those that are left.
  return joined(named.length > 0 ? named : all);
}

/** The newer of two while they are rotated: what everybody has to be seen to accept. */
export function newcomerOf({ signer, other, rotation: { phase } }: Authority): KeyPair | undefined {
  if (phase === "Steady") return undefined;
  if (phase !== "Bundle") return signer;
  return other && { certificate: other.certificate, key: other.key ?? "" };
}

export function idOf(pki: Pki, certificate: string, where: string): string {
  return caId(pki.inspect({ certificate: { text: certificate, where } }).fingerprint);
}

/** When a CA should be replaced: a part of its life before its end, or earlier where leaves live longer; never in its first half. */
export function rotateAt({ notBefore, notAfter }: CertificateFacts, leafLifeMs: number): number {
  const life = notAfter - notBefore;
  return notAfter - Math.min(Math.max(life * CA_NOTICE, leafLifeMs), life / 2);
}

/** As the decision sees it. */
export function authorityFacts(
  pki: Pki,
  { signer, other, rotation }: Authority,
  leafLifeMs: number,
): {
  readonly current: string;
  readonly phase: RotationPhase;
  readonly other?: string;
  readonly since: number;
  readonly expiresAt: number;
  readonly rotateAt: number;
  readonly operation?: string;
} {
  const facts = pki.inspect({ certificate: { text: signer.certificate, where: "a CA" } });
  const { phase, since, operation } = rotation;
  return {
    current: caId(facts.fingerprint),
    phase,
    ...(other && { other: idOf(pki, other.certificate, "a CA") }),
    since,
    expiresAt: facts.notAfter,
    rotateAt: rotateAt(facts, leafLifeMs),
    ...(operation !== undefined && { operation }),
  };
}

const PHASES: readonly string[] = Object.keys(BEFORE);

/** From the text that was written beside the certificates; undefined when it is none of ours. */
export function readRotation(text: string): RotationState | undefined {
  try {
    const state = JSON.parse(text) as Partial<RotationState>;
    const { phase = "", since, generation, operation } = state;
    const isOurs = PHASES.includes(phase) && typeof since === "number" && typeof generation === "number";
    if (!isOurs) return undefined;
    return {
      phase: phase as RotationPhase,
      since,
      generation,
      ...(typeof operation === "string" && { operation }),
    };
  } catch {
    return undefined;
  }
}

/** One text out of CA certificates, each once. */
function joined(certificates: readonly string[]): string {
  return [...new Set(certificates.map((text) => `${text.trimEnd()}\n`))].join("");
}
