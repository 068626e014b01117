/**
 * What cert-manager issued once and does not issue again, such as by an issuer that does not exist: what is there serves
 * until it ends, and somebody has to hear of it before. A wait that is as short as usual is not worth a word.
 */
import type { Plane } from "../../pki/plan.ts";
import type { Problem } from "../../pki/source.ts";
import { whyNotReady, type Certificate } from "../cert-manager.ts";

/** Issuers with a CA answer within a second or two. */
const USUAL_MS = 15_000;

/** Under what its problem is kept: it stops nothing of the plane. */
export const issuerOf = (plane: Plane): string => `${plane} issuer`;

interface Issued {
  /** Of the spec, that names its issuer. */
  readonly field: string;
  /** Of the Certificate and of its Secret. */
  readonly name: string;
}

/** `issued`: those whose Secrets are there. */
export function notReissued(
  issued: readonly Issued[],
  known: readonly Certificate[],
  now: number,
): Problem | undefined {
  const late = issued.flatMap(({ field, name }) => {
    const certificate = known.find(({ metadata }) => metadata?.name === name);
    const why = certificate && whyNotReady(certificate);
    if (!why || now - (why.since ?? -Infinity) < USUAL_MS) return [];
    const { issuerRef } = certificate.spec;
    return [{ field, name, by: `${issuerRef.kind ?? "Issuer"} ${issuerRef.name}`, why: why.message }];
  });
  const [first] = late;
  if (!first) return undefined;
  const names = late.filter(({ field }) => field === first.field).map(({ name }) => name);
  return {
    reason: "CertificatePending",
    message: `${first.field}: ${first.by} has not issued ${[...new Set(names)].join(", ")} (${first.why}); the previous certificates are used until they expire`,
  };
}
