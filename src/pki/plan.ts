/**
 * What should happen to a certificate, decided purely: how long it lives, when it is renewed, whether the one
 * in place is the one wanted, and whether the CA can still sign. etcd re-reads leaves on every handshake (R45),
 * so a leaf is simply reissued; a CA that runs out is reported, because replacing it needs restarts.
 */
import type { CaRequest, CertificateFacts, LeafSpec, Sans, Usage, Validity } from "../seams/pki.ts";
import { sameSans } from "./sans.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const DAY = 24 * 60 * MINUTE;

export const CA_LIFE_MS = 3650 * DAY;
export const LEAF_LIFE_MS = 90 * DAY;
/** Shorter lives would be eaten by whole seconds and clock skew. */
export const SHORTEST_LIFE_MS = MINUTE;
/** Certificates begin in the past, for machines whose clocks are behind the one that they are issued by. */
export const BACKDATE_MS = 60 * MINUTE;
const RENEW_AFTER = 2 / 3;
/** Renewals of one age are spread over this part of a life, so that they do not come all at once. */
const JITTER = 1 / 20;
/** A CA is reported this part of its life before its end. */
export const CA_NOTICE = 1 / 10;

/**
 * R44. A server whose HTTP gateway has no certificate of its own needs clientAuth too: the gateway dials it with the
 * server's. Peers are both ends of their connections.
 */
export const USAGES = {
  server: ["serverAuth"],
  serverWithGateway: ["serverAuth", "clientAuth"],
  peer: ["serverAuth", "clientAuth"],
  client: ["clientAuth"],
} as const satisfies Record<string, readonly Usage[]>;

/** Each has a CA of its own, so that a client is no peer. */
export type Plane = "client" | "peer";
export const PLANES: readonly Plane[] = ["client", "peer"];

export function caOf(cluster: string, plane: Plane, lifeMs = CA_LIFE_MS): CaRequest {
  return { commonName: `${cluster} ${plane} CA`, lifeMs };
}

/** What a member shows on a plane. */
export function memberLeaf(
  member: string,
  plane: Plane,
  sans: Sans,
  { lifeMs = LEAF_LIFE_MS, ownGateway = false }: { lifeMs?: number; ownGateway?: boolean } = {},
): LeafSpec {
  const server = ownGateway ? USAGES.server : USAGES.serverWithGateway;
  return { commonName: member, sans, usages: plane === "client" ? server : USAGES.peer, lifeMs };
}

/**
 * What the HTTP gateway of a member dials it with. It bears no common name: a request without an Accept header acts as
 * the user of that name once auth is enabled (R55).
 */
export function gatewayLeaf(lifeMs = LEAF_LIFE_MS): LeafSpec {
  return clientLeaf("", lifeMs);
}

/**
 * What a leaf that somebody else made has to be good for. The gateway's part of a server (R44) is not asked for: etcd
 * serves without it.
 */
export function givenLeaf(member: string, plane: Plane, sans: Sans): LeafSpec {
  const usages: readonly Usage[] = plane === "client" ? ["serverAuth"] : USAGES.peer;
  return { ...memberLeaf(member, plane, sans), usages };
}

/** A leaf for somebody who only dials. */
export function clientLeaf(commonName: string, lifeMs = LEAF_LIFE_MS): LeafSpec {
  return { commonName, sans: { dns: [], ips: [] }, usages: USAGES.client, lifeMs };
}

/** The life of a certificate issued now. A leaf that outlived its CA would be worth nothing, so it is cut. */
export function validity(now: number, lifeMs: number, ca?: Validity): Validity {
  const notBefore = Math.floor((now - Math.min(BACKDATE_MS, lifeMs / 10)) / SECOND) * SECOND;
  const notAfter = Math.ceil((now + lifeMs) / SECOND) * SECOND;
  if (!ca) return { notBefore, notAfter };
  return { notBefore: Math.max(notBefore, ca.notBefore), notAfter: Math.min(notAfter, ca.notAfter) };
}

/**
 * When a leaf is due: at 2/3 of its life plus a jitter fixed by its name. A life longer than the one wanted now
 * does not postpone it, so a shortened setting takes effect.
 */
export function renewAt(name: string, leaf: Validity, lifeMs: number): number {
  const life = Math.min(leaf.notAfter - leaf.notBefore, lifeMs);
  return leaf.notBefore + life * (RENEW_AFTER + JITTER * spread(name));
}

/** FNV-1a of the name as a fraction in [0, 1). */
function spread(name: string): number {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(name)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  // The low bits mix best; names that differ only in their last character differ mostly there.
  return ((hash ^ (hash >>> 16)) & 0xffff) / 0x10000;
}

/** What was found where a certificate should be. */
export type Found =
  | { readonly kind: "absent" }
  | { readonly kind: "unreadable"; readonly message: string }
  | { readonly kind: "present"; readonly facts: CertificateFacts };

/** Whether a leaf would serve now, due or not, for those who trust whom it was judged by. */
export function serves(found: Found, now: number): boolean {
  if (found.kind !== "present") return false;
  const { isCa, keyMatches, issuedBy, notBefore, notAfter } = found.facts;
  return !isCa && keyMatches === true && issuedBy !== undefined && now >= notBefore && now <= notAfter;
}

export type LeafFlaw =
  | "absent"
  | "unreadable"
  | "wrong-kind"
  | "wrong-key"
  | "wrong-issuer"
  | "wrong-subject"
  | "wrong-sans"
  | "wrong-usages"
  | "not-yet-valid"
  | "expired"
  | "due";

export type LeafVerdict =
  /** Nothing to do before `lookAgainAt`. */
  | { readonly kind: "keep"; readonly lookAgainAt: number }
  | { readonly kind: "issue"; readonly flaw: LeafFlaw; readonly message: string }
  /** The leaf should be reissued but the CA cannot sign it. */
  | { readonly kind: "blocked"; readonly flaw: LeafFlaw; readonly message: string };

export interface LeafInput {
  /** Unique among the certificates that should not renew together, such as `<cluster>/<member>/peer`. */
  readonly name: string;
  readonly wanted: LeafSpec;
  readonly found: Found;
  readonly ca: CertificateFacts;
  readonly now: number;
}

/** Whether a leaf stays, is reissued, or would have to be but cannot. */
export function judgeLeaf(input: LeafInput): LeafVerdict {
  const flaw = flawOf(input);
  if (!flaw) return { kind: "keep", lookAgainAt: lookAgainAt(input) };
  const message = `${input.name}: ${flaw.message}`;
  const ca = judgeCa(input.ca, input.wanted.lifeMs, input.now);
  if (!ca.canIssue) return { kind: "blocked", flaw: flaw.kind, message: `${message}; ${ca.message}` };
  return { kind: "issue", flaw: flaw.kind, message };
}

function lookAgainAt({ found, ca, name, wanted }: LeafInput): number {
  if (found.kind !== "present") return 0;
  return cutByCa(found.facts, ca) ? found.facts.notAfter : renewAt(name, found.facts, wanted.lifeMs);
}

/** A leaf that already ends with its CA gains nothing by renewal; without this it would renew ever faster. */
function cutByCa(leaf: Validity, ca: Validity): boolean {
  return leaf.notAfter >= ca.notAfter;
}

function flawOf(input: LeafInput): { kind: LeafFlaw; message: string } | undefined {
  const { found, wanted, ca, now } = input;
  if (found.kind === "absent") return { kind: "absent", message: "no certificate yet" };
  if (found.kind === "unreadable") return { kind: "unreadable", message: found.message };
  const { facts } = found;
  if (facts.isCa) return { kind: "wrong-kind", message: "a CA certificate instead of a leaf certificate" };
  if (facts.keyMatches !== true)
    return { kind: "wrong-key", message: "the private key does not match the certificate" };
  if (facts.issuedBy !== ca.fingerprint)
    return { kind: "wrong-issuer", message: "not signed by the current CA" };
  if ((facts.commonName ?? "") !== wanted.commonName) {
    return {
      kind: "wrong-subject",
      message: `issued to ${facts.commonName ?? "no common name"}, ${wanted.commonName ? `not ${wanted.commonName}` : "but no common name was requested"}`,
    };
  }
  if (!sameSans(facts.sans, wanted.sans)) {
    return { kind: "wrong-sans", message: "its names and addresses differ from the member's" };
  }
  if (!sameMembers(facts.usages, wanted.usages)) {
    return {
      kind: "wrong-usages",
      message: `issued for ${facts.usages.join(", ")}, not ${wanted.usages.join(", ")}`,
    };
  }
  // A clock that jumped: whoever reads the same clock refuses this leaf. Should the clock return, the next
  // look finds the new one expired or not yet valid and reissues again.
  if (now < facts.notBefore) {
    return {
      kind: "not-yet-valid",
      message: `not valid before ${iso(facts.notBefore)}; check the clock`,
    };
  }
  if (now > facts.notAfter) return { kind: "expired", message: `expired at ${iso(facts.notAfter)}` };
  if (!cutByCa(facts, ca) && now >= renewAt(input.name, facts, wanted.lifeMs)) {
    return { kind: "due", message: `due for renewal, expires at ${iso(facts.notAfter)}` };
  }
  return undefined;
}

export type CaState = "valid" | "expiring" | "expired" | "not-yet-valid" | "wrong-kind" | "wrong-key";

export interface CaVerdict {
  readonly state: CaState;
  readonly canIssue: boolean;
  readonly message: string;
}

/** The state of a CA for conditions and for whether leaves can be issued. Nothing here replaces a CA. */
export function judgeCa(ca: CertificateFacts, leafLifeMs: number, now: number): CaVerdict {
  const cannot = (state: CaState, message: string): CaVerdict => ({ state, canIssue: false, message });
  const named = `the CA ${ca.commonName ?? ca.fingerprint}`;
  if (!ca.isCa) return cannot("wrong-kind", `${named} is not a CA certificate`);
  if (ca.keyMatches !== true)
    return cannot("wrong-key", `${named} has no matching private key, so it cannot sign`);
  if (now < ca.notBefore) {
    return cannot("not-yet-valid", `${named} is not valid before ${iso(ca.notBefore)}; check the clock`);
  }
  if (now > ca.notAfter)
    return cannot(
      "expired",
      `${named} expired at ${iso(ca.notAfter)}; it is replaced when the cluster is hibernated (spec.replicas: 0)`,
    );
  const notice = Math.max((ca.notAfter - ca.notBefore) * CA_NOTICE, leafLifeMs);
  const message = `${named} is valid until ${iso(ca.notAfter)}`;
  if (now > ca.notAfter - notice)
    return { state: "expiring", canIssue: true, message: `${message}; replace it before` };
  return { state: "valid", canIssue: true, message };
}

function sameMembers(a: readonly string[], b: readonly string[]): boolean {
  const [left, right] = [new Set(a), new Set(b)];
  return left.size === right.size && [...left].every((x) => right.has(x));
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
