/**
 * Trust bundles: the text of a CA file, which is a list of CA certificates. Today's managed planes trust
 * one CA each; a list leaves room for old and new side by side, since etcd reads CA files only at start (R45).
 */
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g;

/** The certificates of a PEM text, one text each; anything around them is left out. */
export function splitBundle(pem: string): string[] {
  return (pem.match(CERTIFICATE) ?? []).map((certificate) => `${certificate}\n`);
}

/** One CA file out of CA certificates, each once, in the given order. */
export function trustBundle(certificates: readonly string[]): string {
  return [...new Set(certificates.flatMap(splitBundle))].join("");
}
