/**
 * Keeping certificates: what is in place is read, judged, and made anew when it has to be. The same wherever
 * they are kept, in files or in Secrets; where, and how they are written, is the business of the caller.
 */
import {
  PkiError,
  type CertificateFacts,
  type KeyPair,
  type LeafSpec,
  type Pem,
  type Pki,
} from "../seams/pki.ts";
import { judgeLeaf, LEAF_LIFE_MS, USAGES, type Found } from "./plan.ts";

/** A CA that can sign, or could if its key were there. */
export interface Authority {
  readonly pair: KeyPair;
  readonly facts: CertificateFacts;
}

/** Throws `PkiError` when the certificate or the key cannot be read. */
export function readAuthority(pki: Pki, certificate: Pem, key: Pem | undefined): Authority {
  const facts = pki.inspect({ certificate, ...(key && { key }) });
  return { pair: { certificate: certificate.text, key: key?.text ?? "" }, facts };
}

/** What is where a leaf should be. Certificate and key may be in one text. */
export function findLeaf(
  pki: Pki,
  certificate: Pem | undefined,
  key: Pem | undefined,
  trust: Pem | undefined,
): Found {
  if (certificate === undefined) return { kind: "absent" };
  try {
    const facts = pki.inspect({ certificate, ...(key && { key }), ...(trust && { trust }) });
    return { kind: "present", facts };
  } catch (error) {
    if (!(error instanceof PkiError)) throw error;
    return { kind: "unreadable", message: error.message };
  }
}

export type Renewal =
  /** `lookAgainAt` is when it may be due. */
  | { readonly kind: "kept"; readonly notAfter: number; readonly lookAgainAt: number }
  | { readonly kind: "issued"; readonly pair: KeyPair; readonly notAfter: number }
  /** It should be made anew and cannot be. */
  | { readonly kind: "blocked"; readonly message: string };

export interface RenewalInput {
  /** Unique among the certificates that should not renew together. */
  readonly name: string;
  readonly leaf: LeafSpec;
  readonly found: Found;
  readonly ca: Authority;
  readonly now: number;
  /** Why none may be issued now, whatever is in place. */
  readonly blocked?: string | undefined;
}

export async function renewLeaf(pki: Pki, input: RenewalInput): Promise<Renewal> {
  const { name, leaf, found, ca, now, blocked } = input;
  const verdict = judgeLeaf({ name, wanted: leaf, found, ca: ca.facts, now });
  if (verdict.kind === "blocked") return { kind: "blocked", message: verdict.message };
  if (verdict.kind === "keep") {
    const notAfter = found.kind === "present" ? found.facts.notAfter : now;
    return { kind: "kept", notAfter, lookAgainAt: verdict.lookAgainAt };
  }
  if (blocked !== undefined) return { kind: "blocked", message: `${verdict.message}. ${blocked}` };
  const issued = await pki.issueLeaf({ ca: ca.pair, leaf });
  return { kind: "issued", pair: issued, notAfter: issued.notAfter };
}

/** A leaf for somebody who only dials. */
export function clientLeaf(commonName: string): LeafSpec {
  return { commonName, sans: { dns: [], ips: [] }, usages: USAGES.client, lifeMs: LEAF_LIFE_MS };
}
