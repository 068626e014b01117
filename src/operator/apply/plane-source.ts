/**
 * Where the leaves of a plane come from now, by the CA that signs in it and by what somebody else gives: another source
 * is not used before everybody trusts its CA, and until then what members have is kept.
 */
import { bundleOf, idOf, type Authority, type CaSet } from "../../pki/authority.ts";
import { trustBundle } from "../../pki/bundle.ts";
import type { Given, Keeping, Problem } from "../../pki/source.ts";
import type { Pki } from "../../seams/pki.ts";

/** What somebody else gives, or why nothing. */
export type Offering = Given | { readonly problem: Problem };

/** The CAs of what is given. */
export function offeredCa({ trust, accepts }: Pick<Given, "trust" | "accepts">): CaSet {
  const [servers, certificate] = [trust.text, accepts.text];
  return { certificate, ...(servers !== certificate && { servers }), given: true };
}

/** Whether it is of another CA than this one. */
export function isAnother(pki: Pki, signer: CaSet, given: Given): boolean {
  const [now, next] = [signer, offeredCa(given)].map((ca) => idOf(pki, ca, "a CA"));
  return now !== next || signer.given !== true;
}

export interface Held {
  readonly authority: Authority;
  /** Of the Secret that holds it. */
  readonly where: string;
}

/** The leaves of a plane whose CA somebody else gave. */
export function givenLeaves(
  pki: Pki,
  { authority, where }: Held,
  offering: Offering | undefined,
  spare: Keeping["spare"],
): { readonly source: Given | Keeping; readonly problem?: Problem } {
  const { signer, other } = authority;
  const cas = {
    trust: { text: bundleOf(authority), where },
    accepts: { text: trustBundle([signer, ...(other ? [other] : [])].map((ca) => ca.certificate)), where },
  };
  const keeps = (why: Problem) => ({ kind: "keeps", ...cas, why, ...(spare && { spare }) }) as const;
  if (offering === undefined) return { source: keeps(LEFT) };
  if ("problem" in offering) return { source: keeps(offering.problem), problem: offering.problem };
  const id = (ca: CaSet) => idOf(pki, ca, where);
  const offered = id(offeredCa(offering));
  if (offered === id(signer)) return { source: { ...offering, ...cas } };
  const isNext = other?.given === true && id(other) === offered;
  // In any other phase the rotation to it begins, or the one to another ends first.
  const isStuck = authority.rotation.phase === "Reissue" && !isNext;
  return isStuck
    ? { source: keeps(THIRD(offering.accepts.where)), problem: THIRD(offering.accepts.where) }
    : { source: keeps(REPLACED(offering.accepts.where)) };
}

const LEFT: Problem = {
  message:
    "certificates of the previous source are kept until members trust the CA of Quorate, and no new ones come from there; to add members before that, undo the edit of spec.tls",
};

const REPLACED = (where: string): Problem => ({
  message: `${where} is another CA than members trust: its certificates are used when every member trusts it, and none of the previous CA is given; to add members before that, put the previous certificates back`,
});

const THIRD = (where: string): Problem => ({
  reason: "CAChanged",
  message: `${where} is a third CA, while members take over certificates of a second one. The members keep their certificates; put back the second CA, or the first one`,
});
