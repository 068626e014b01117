/**
 * Where the leaves of a plane come from now, by the CA that signs in it and by what somebody else gives: another source
 * is not used before everybody trusts its CA, and until then what members have is kept.
 */
import { bundleOf, idOf, type Authority, type CaSet } from "../../pki/authority.ts";
import { splitBundle, trustBundle } from "../../pki/bundle.ts";
import type { Keeper } from "../../pki/keeper.ts";
import { PLANES } from "../../pki/plan.ts";
import type { Given, Keeping, Problem } from "../../pki/source.ts";
import { PkiError, type Pki } from "../../seams/pki.ts";

/** What somebody else gives, or why nothing. */
export type Offering = Given | { readonly problem: Problem };

/** What is given, unless its CAs cannot be read: etcd does not start with a CA file that it cannot read. */
export function readable(pki: Pki, offering: Offering): Offering {
  if ("problem" in offering) return offering;
  try {
    for (const certificate of [offering.trust, offering.accepts])
      pki.inspect({ certificate, trust: certificate });
    return offering;
  } catch (error) {
    if (!(error instanceof PkiError)) throw error;
    return { problem: { reason: "CertificateInvalid", message: error.message } };
  }
}

/** R49: who is let in as a client is so as a peer. */
export function sharedCAs(keeper: Pick<Keeper, "source">): readonly string[] {
  const [clients, peers] = PLANES.map((plane) => keeper.source(plane));
  if (clients?.kind !== "gives" || peers?.kind !== "gives") return [];
  const ofPeers = splitBundle(peers.accepts.text);
  return splitBundle(clients.accepts.text).some((ca) => ofPeers.includes(ca))
    ? [
        "spec.tls: clients and peers have certificates of the same CA, so only a name in them tells a member from a client: use a CA for each",
      ]
    : [];
}

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
  of: "the previous source",
  message:
    "certificates of the previous source are kept until members need them no more, and no new ones come from there; to add members before that, undo the edit of spec.tls",
};

const REPLACED = (where: string): Problem => ({
  of: where,
  message: `${where} is another CA than members trust: its certificates are used when every member trusts it, and none of the previous CA is given; to add members before that, put the previous certificates back`,
});

const THIRD = (where: string): Problem => ({
  reason: "CAChanged",
  of: where,
  message: `${where} is a third CA, while members take over certificates of a second one. The members keep their certificates; put back the second CA, or the first one`,
});
