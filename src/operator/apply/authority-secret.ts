/**
 * The CA of a plane in its Secret: who signs, and while it is rotated the other one, with the phase in an annotation.
 * One object, so that a phase begins by a single write in the version that was read.
 */
import type { Secret } from "kubernetes-types/core/v1.d.ts";
import { Buffer } from "node:buffer";
import { lifetimesOf } from "../../api/lifetimes.ts";
import { Conflict } from "../../control/platform.ts";
import type { Action } from "../../core/action.ts";
import type { AuthorityFacts, ClusterFacts } from "../../core/observation.ts";
import type { KubeClient } from "../../kube/client.ts";
import { isControlledBy } from "../../kube/resources.ts";
import {
  advanced,
  authorityFacts,
  bundleOf,
  NO_ROTATION,
  readRotation,
  type Authority,
} from "../../pki/authority.ts";
import type { Plane } from "../../pki/plan.ts";
import { PkiError, type Pki } from "../../seams/pki.ts";
import { ANNOTATIONS, secretNames } from "../names.ts";
import { CA_FILES } from "../render/config.ts";
import { secrets } from "../resources.ts";

/** The Secret of a plane's authority. */
export function authorityName(cluster: Pick<ClusterFacts, "name">, plane: Plane): string {
  const { clientCA, peerCA } = secretNames(cluster.name);
  return plane === "client" ? clientCA : peerCA;
}

/** Throws `PkiError` where it is damaged. */
export function authorityIn(secret: Secret, where: string): Authority {
  const text = (file: string) => {
    const encoded = secret.data?.[file];
    return encoded === undefined ? undefined : Buffer.from(encoded, "base64").toString();
  };
  const note = secret.metadata?.annotations?.[ANNOTATIONS.rotation];
  const rotation = note === undefined ? NO_ROTATION : readRotation(note);
  if (!rotation)
    throw new PkiError("invalid-request", where, `its annotation ${ANNOTATIONS.rotation} is damaged`);
  const [certificate = "", key = ""] = [text(CA_FILES.certificate), text(CA_FILES.key)];
  const other = text(CA_FILES.other);
  const otherKey = text(CA_FILES.otherKey);
  if (rotation.phase !== "Steady" && other === undefined)
    throw new PkiError("unreadable-certificate", `${where}, ${CA_FILES.other}`, "is gone during a rotation");
  const isRotating = rotation.phase !== "Steady" && other !== undefined;
  return {
    signer: { certificate, key },
    ...(isRotating && { other: { certificate: other, ...(otherKey !== undefined && { key: otherKey }) } }),
    rotation,
  };
}

const known = new WeakMap<Secret, { readonly leafMs: number; readonly facts: AuthorityFacts | undefined }>();

/** Undefined for one that cannot be read, which is told where certificates are issued from it. */
export function authorityFactsOf(pki: Pki, secret: Secret, leafMs: number): AuthorityFacts | undefined {
  const before = known.get(secret);
  if (before?.leafMs === leafMs) return before.facts;
  let facts: AuthorityFacts | undefined;
  try {
    facts = authorityFacts(pki, authorityIn(secret, "the CA"), leafMs);
  } catch (error) {
    if (!(error instanceof PkiError)) throw error;
  }
  known.set(secret, { leafMs, facts });
  return facts;
}

export interface RotateContext {
  readonly client: KubeClient;
  readonly pki: Pki;
  readonly now: number;
}

export async function rotateAuthority(
  { client, pki, now }: RotateContext,
  { name: cluster, uid: owner, spec }: ClusterFacts,
  secret: Secret | undefined,
  action: Extract<Action, { kind: "RotateAuthority" }>,
): Promise<void> {
  const { plane } = action;
  if (!secret || !isControlledBy(secret, owner)) throw new Conflict(`the Secret of the ${plane} CA is gone`);
  const { name = "", namespace = "", uid = "", resourceVersion = "" } = secret.metadata ?? {};
  const before = authorityIn(secret, `Secret ${namespace}/${name}`);
  const { caMs: lifeMs } = lifetimesOf(spec.tls);
  const after = await advanced(pki, before, { ...action, cluster, now, lifeMs });
  if (after === before) return;
  const patch = {
    metadata: { annotations: { [ANNOTATIONS.rotation]: JSON.stringify(after.rotation) } },
    data: {
      [CA_FILES.certificate]: encoded(after.signer.certificate),
      [CA_FILES.key]: encoded(after.signer.key),
      [CA_FILES.bundle]: encoded(bundleOf(after)),
      [CA_FILES.other]: encoded(after.other?.certificate),
      [CA_FILES.otherKey]: encoded(after.other?.key),
    },
  };
  await client.patch(secrets, { name, namespace }, patch, { uid, resourceVersion });
}

/** null takes a file away. */
function encoded(text: string | undefined): string | null {
  return text === undefined ? null : Buffer.from(text).toString("base64");
}
