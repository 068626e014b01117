/**
 * Certificates as a port: issue a CA, issue a leaf, read one back. Requests and results are plain data,
 * so that the simulator can stand in with deterministic certificates (WebCrypto makes its own keys and
 * finishes in varying order). What the stand-in issues only the stand-in can read: hence `inspect` is here.
 */

/** Milliseconds since the epoch; X.509 keeps whole seconds. Both ends are inside the certificate's life. */
export interface Validity {
  readonly notBefore: number;
  readonly notAfter: number;
}

/** Subject alternative names. A DNS name may begin with `*.`. */
export interface Sans {
  readonly dns: readonly string[];
  readonly ips: readonly string[];
}

/** Extended key usages in etcd's world; a certificate made elsewhere may carry others, told by their OID. */
export type Usage = "serverAuth" | "clientAuth";

/** A certificate (PEM) with its private key (PKCS #8 PEM). */
export interface KeyPair {
  readonly certificate: string;
  readonly key: string;
}

export interface CaRequest {
  readonly commonName: string;
  readonly lifeMs: number;
}

/** What a leaf should be. The same data asks for it and judges whether the one in place still fits. */
export interface LeafSpec {
  readonly commonName: string;
  readonly sans: Sans;
  readonly usages: readonly Usage[];
  readonly lifeMs: number;
  /** Of one that is given: the common names that it may have, the first of which is in use; absent where any will do. */
  readonly users?: readonly string[];
}

export interface LeafRequest {
  readonly ca: KeyPair;
  readonly leaf: LeafSpec;
}

export interface IssuedCertificate extends KeyPair, Validity {
  /** Lower-case hex. */
  readonly serial: string;
  /** SHA-256 of the certificate, lower-case hex. */
  readonly fingerprint: string;
}

/** A PEM text and the name under which its owner knows it: a path, or a field of a Secret. */
export interface Pem {
  readonly text: string;
  readonly where: string;
}

export interface InspectRequest {
  /** When it holds several certificates (a chain), the first is the one inspected, as in TLS. */
  readonly certificate: Pem;
  readonly key?: Pem;
  /** One or more CA certificates: the trust bundle. */
  readonly trust?: Pem;
}

export interface CertificateFacts extends Validity {
  readonly commonName: string | undefined;
  readonly sans: Sans;
  readonly usages: readonly string[];
  readonly isCa: boolean;
  readonly serial: string;
  readonly fingerprint: string;
  /** Fingerprint of the CA of the trust bundle that it leads to, through the intermediates beside it, if any. */
  readonly issuedBy: string | undefined;
  /** When the first certificate of the chain above it ends, that CA included. */
  readonly issuerEnds?: number | undefined;
  /** Undefined when no private key was given. */
  readonly keyMatches: boolean | undefined;
}

export interface Pki {
  /** A self-signed CA. */
  issueCa(request: CaRequest): Promise<IssuedCertificate>;
  /** A leaf with a new key, signed by the CA and never outliving it. */
  issueLeaf(request: LeafRequest): Promise<IssuedCertificate>;
  /** Throws `PkiError` naming the file or field that cannot be read. */
  inspect(request: InspectRequest): CertificateFacts;
}

export type PkiErrorReason =
  | "unreadable-certificate"
  | "unreadable-key"
  | "invalid-request"
  | "issuing-failed"
  | "wrong-clock";

export class PkiError extends Error {
  override name = "PkiError";
  readonly reason: PkiErrorReason;
  /** The file, Secret field or request field at fault. */
  readonly where: string;
  constructor(reason: PkiErrorReason, where: string, message: string, options?: ErrorOptions) {
    super(`${where}: ${message}`, options);
    this.reason = reason;
    this.where = where;
  }
}
