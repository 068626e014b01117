/**
 * An issuer of cert-manager that goes over to another CA. cert-manager issues with it what is due, one by one over weeks;
 * members would trust both CAs for as long, and restart once more in the end. So the others are asked for at once, and
 * none of another CA is used before all are of it.
 */
import type { Secret } from "kubernetes-types/core/v1.d.ts";
import type { ConditionReason } from "../../core/messages/condition-reasons.ts";
import type { KubeClient } from "../../kube/client.ts";
import { isReason } from "../../kube/errors.ts";
import { trustBundle } from "../../pki/bundle.ts";
import type { Problem } from "../../pki/source.ts";
import { PkiError, type Pki } from "../../seams/pki.ts";
import { certificates, type Certificate } from "../cert-manager.ts";
import { textIn } from "./secret-files.ts";

/**
 * After that cert-manager did not issue the others, and what is there is used before the old ones expire. Some issuers let
 * certificates begin an hour before they are issued.
 */
const PATIENCE_MS = 3 * 60 * 60_000;

/** A certificate that cert-manager wrote, by the Secret and Certificate of this name. */
interface IssuedLeaf {
  readonly name: string;
  /** Of the spec, that names its issuer. */
  readonly field: string;
  /** The CAs beside it. */
  readonly ca: string;
  readonly notBefore: number;
}

/** The Secret of such a one. */
export interface Written extends Pick<IssuedLeaf, "name" | "field"> {
  readonly secret: Secret;
}

/** Those of one issuer that are of another CA than its newest one, and older; none where that one is not new. */
export function staleIn(leaves: readonly IssuedLeaf[], now: number): IssuedLeaf[] {
  const newest = leaves.toSorted((a, b) => b.notBefore - a.notBefore)[0];
  if (!newest) return [];
  const since = Math.min(...leaves.filter(({ ca }) => ca === newest.ca).map(({ notBefore }) => notBefore));
  return now - since > PATIENCE_MS ? [] : leaves.filter(({ ca }) => ca !== newest.ca);
}

interface Around {
  readonly client: KubeClient;
  readonly pki: Pki;
  readonly now: () => number;
}

export class Reissues {
  readonly #around: Around;
  /** Of which CA a Certificate was when another one was asked for: an issuer with several is not asked in a circle. */
  readonly #asked = new Map<string, Set<string>>();

  constructor(around: Around) {
    this.#around = around;
  }

  /** Asks for the stale ones of each issuer. What is waited for, if anything is. */
  async ask(
    groups: readonly (readonly Written[])[],
    known: readonly Certificate[],
  ): Promise<Problem | undefined> {
    const now = this.#around.now();
    const stale = groups.flatMap((written) => staleIn(this.#leaves(written), now));
    const refusals: string[] = [];
    for (const leaf of stale) {
      const certificate = known.find(({ metadata }) => metadata?.name === leaf.name);
      const refusal = certificate && (await this.#askFor(certificate, leaf.ca));
      if (refusal !== undefined) refusals.push(refusal);
    }
    const [first] = stale;
    if (!first) {
      for (const { name } of groups.flat()) this.#asked.delete(name);
      return undefined;
    }
    const names = [...new Set(stale.map(({ name }) => name))].join(", ");
    const why = refusals[0] === undefined ? "" : ` (${refusals[0]})`;
    return {
      reason: "CertificatePending",
      message: `${first.field}: its issuer has another CA, and cert-manager has not reissued ${names} with it yet${why}; the previous certificates are used until then. To reissue one, delete the Secret of its name`,
    };
  }

  /** What cannot be read is told where it is used. */
  #leaves(written: readonly Written[]): IssuedLeaf[] {
    return written.flatMap(({ name, field, secret }) => {
      const [ca, text] = [trustBundle([textIn(secret, "ca.crt") ?? ""]), textIn(secret, "tls.crt") ?? ""];
      try {
        const { notBefore } = this.#around.pki.inspect({ certificate: { text, where: name } });
        return ca === "" ? [] : [{ name, field, ca, notBefore }];
      } catch (error) {
        if (!(error instanceof PkiError)) throw error;
        return [];
      }
    });
  }

  /** As `cmctl renew` does. Why it was refused, if it was: an earlier role lacks the right, and everything else works. */
  async #askFor({ metadata, status }: Certificate, ca: string): Promise<string | undefined> {
    const { name = "", namespace = "", uid = "", resourceVersion = "", generation = 0 } = metadata ?? {};
    const asked = this.#asked.get(name) ?? new Set();
    const { conditions = [] } = status ?? {};
    if (asked.has(ca) || conditions.some(({ type, status: is }) => type === "Issuing" && is === "True"))
      return undefined;
    const issuing = {
      type: "Issuing",
      status: "True",
      reason: "IssuerChanged" satisfies ConditionReason,
      message: "Quorate asks for a certificate of the CA that the issuer has now",
      observedGeneration: generation,
    };
    const others = conditions.filter(({ type }) => type !== "Issuing");
    try {
      await this.#around.client.patchStatus(
        certificates,
        { name, namespace },
        { conditions: [...others, issuing] },
        { uid, resourceVersion },
      );
    } catch (error) {
      // Somebody else wrote it at the same time, and it is looked at again.
      if (isReason(error, "Conflict", "NotFound")) return undefined;
      if (isReason(error, "Forbidden")) return error.message;
      throw error;
    }
    this.#asked.set(name, asked.add(ca));
    return undefined;
  }
}
