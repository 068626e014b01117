/**
 * Where the leaves of a plane come from. `managed` signs them with a CA of ours; whoever takes them from elsewhere
 * writes another of these, and the keeper judges and remembers what comes of it just the same.
 */
import type { CertificateFacts, IssuedCertificate, LeafSpec, Pem, Pki } from "../seams/pki.ts";

export interface Source {
  /** Who signs, judged before a leaf is asked for. */
  readonly ca: CertificateFacts;
  /** What those have to trust whom a leaf is shown to. */
  readonly trust: Pem;
  obtain(leaf: LeafSpec): Promise<IssuedCertificate>;
}

/** Without its key it cannot sign, which is reported when it should. Throws `PkiError` when either cannot be read. */
export function managed(pki: Pki, certificate: Pem, key: Pem | undefined): Source {
  const ca = pki.inspect({ certificate, ...(key && { key }) });
  const pair = { certificate: certificate.text, key: key?.text ?? "" };
  return { ca, trust: certificate, obtain: (leaf) => pki.issueLeaf({ ca: pair, leaf }) };
}
