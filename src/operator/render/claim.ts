/**
 * The claim of a member whose data is persistent. It has no owner: only a step deletes it (I5). Its labels tell
 * whose it is, by UID, since names return (I9).
 */
import type { PersistentVolumeClaim } from "kubernetes-types/core/v1.d.ts";
import type { LabelSelector } from "kubernetes-types/meta/v1.d.ts";
import { bytesOf } from "../../api/quantity.ts";
import type { MemberRecord, MemberTemplate } from "../../core/record.ts";
import { claimName } from "../names.ts";
import { givenBy, withGiven } from "./given.ts";
import { claimIdentity } from "./volume-identity.ts";
import { memberObjectLabels, type Identity } from "./metadata.ts";
import { canonicalQuantity } from "./quantity.ts";

const DEFAULT_MODES = ["ReadWriteOnce"] as const;

export function memberClaim(cluster: Identity, record: MemberRecord): PersistentVolumeClaim {
  const claim: PersistentVolumeClaim = {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: {
      name: claimName(record.name),
      namespace: cluster.namespace,
      labels: memberObjectLabels(cluster, record),
      annotations: claimIdentity(record),
    },
    spec: claimSpec(record.template),
  };
  return withGiven(claim, givenBy(cluster.spec?.metadata));
}

export function claimSpec({ storage }: MemberTemplate): NonNullable<PersistentVolumeClaim["spec"]> {
  const { size, className, accessModes = DEFAULT_MODES, selector } = storage;
  return {
    accessModes: [...accessModes],
    resources: { requests: { storage: canonicalQuantity(size) } },
    // Empty means without a class; absent means the default class, which is the server's to fill in.
    ...(className !== undefined && { storageClassName: className }),
    ...(selector && { selector: selector as LabelSelector }),
  };
}

/** The size that the claim has to ask for from now on; undefined when it already asks for as much. */
export function wantedClaimSize(record: MemberRecord, claim: PersistentVolumeClaim): string | undefined {
  const wanted = record.template.storage.size;
  const asked = claim.spec?.resources?.requests?.["storage"];
  if (asked !== undefined && bytesOf(asked) >= bytesOf(wanted)) return undefined;
  return canonicalQuantity(wanted);
}
