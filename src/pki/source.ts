/**
 * Where the leaves of a plane come from: signed here with a CA of ours, or given by somebody else, a person or
 * cert-manager. The keeper judges and remembers what comes of either; nobody else has to know which one it is.
 */
import type { CertificateFacts, IssuedCertificate, LeafSpec, Pem, Pki } from "../seams/pki.ts";

export type Source = Signing | Given | Keeping;

interface Trusted {
  /** CAs of what members show: whoever dials a member trusts these. */
  readonly trust: Pem;
  /** CAs of what is shown to members: a member trusts these. On the peer plane both are the same. */
  readonly accepts: Pem;
}

export interface Signing extends Trusted {
  readonly kind: "signs";
  /** Who signs, judged before a leaf is asked for. */
  readonly ca: CertificateFacts;
  obtain(leaf: LeafSpec): Promise<IssuedCertificate>;
}

export interface Given extends Trusted {
  readonly kind: "gives";
  /** Whether there is something for the gateways of members; else each dials with what the server shows (R51). */
  readonly gateways?: boolean;
  /** The leaf of this name, as it was given; it is checked before anybody uses it. */
  find(name: string): Offer;
}

/** Nobody makes leaves of the CA in use any more: what is in place stays until leaves of another may be used. */
export interface Keeping extends Trusted {
  readonly kind: "keeps";
  /** Said of a leaf that is not there. */
  readonly why: Problem;
  /** The same leaf somewhere else, where one is for all. */
  readonly spare?: (name: string) => Pem | undefined;
}

export type Offer =
  | { readonly certificate: Pem; readonly key: Pem; readonly trust: Pem }
  | { readonly problem: Problem };

/** Why a plane or a leaf is not as it should be. The reason is for machines, where there is one of its own. */
export interface Problem {
  readonly reason?: ProblemReason;
  /** What is at fault, where several leaves or both planes have it: a Secret that is for all of them, say. */
  readonly of?: string;
  readonly message: string;
}

export type ProblemReason =
  /** A Secret that the spec names is not there. */
  | "SecretMissing"
  /** What is in it cannot be used. */
  | "CertificateInvalid"
  /** It comes from another CA than members trust. */
  | "CAChanged"
  /** The API server does not serve cert-manager's kinds. */
  | "CertManagerMissing"
  /** cert-manager has not issued it yet. */
  | "CertificatePending";

/** Without its key it cannot sign, which is reported when it should. Throws `PkiError` when either cannot be read. */
export function managed(pki: Pki, certificate: Pem, key: Pem | undefined): Signing {
  const ca = pki.inspect({ certificate, ...(key && { key }) });
  const pair = { certificate: certificate.text, key: key?.text ?? "" };
  const obtain = (leaf: LeafSpec) => pki.issueLeaf({ ca: pair, leaf });
  return { kind: "signs", ca, trust: certificate, accepts: certificate, obtain };
}
