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
  givenIn,
  idOf,
  NO_ROTATION,
  noteOf,
  readRotation,
  turnOf,
  type Asked,
  type Authority,
  type CaSet,
} from "../../pki/authority.ts";
import type { Plane } from "../../pki/plan.ts";
import { PkiError, type Pki } from "../../seams/pki.ts";
import { ANNOTATIONS, secretNames } from "../names.ts";
import { CA_FILES } from "../render/config.ts";
import { caSecret } from "../render/secret.ts";
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
  const { given, otherGiven } = note === undefined ? {} : givenIn(note);
  const [servers, otherServers] = [text(CA_FILES.servers), text(CA_FILES.otherServers)];
  return {
    signer: { certificate, key, ...(servers !== undefined && { servers }), ...(given && { given }) },
    ...(isRotating && {
      other: {
        certificate: other,
        ...(otherKey !== undefined && { key: otherKey }),
        ...(otherServers !== undefined && { servers: otherServers }),
        ...(otherGiven && { given: otherGiven }),
      },
    }),
    rotation,
  };
}

/** The Secret of a plane whose CA somebody else gives: what members run with, and where its rotation is. */
export function givenAuthority(cluster: ClusterFacts, plane: Plane, { certificate, servers }: CaSet): Secret {
  const given = { certificate, key: "", ...(servers !== undefined && { servers }), given: true } as const;
  const authority: Authority = { signer: given, rotation: NO_ROTATION };
  const { metadata, data, ...rest } = caSecret(cluster, plane, {
    certificate,
    key: "",
    ca: bundleOf(authority),
  });
  return {
    ...rest,
    metadata: {
      ...metadata,
      annotations: { ...metadata?.annotations, [ANNOTATIONS.rotation]: noteOf(authority) },
    },
    data: { ...data, ...(servers !== undefined && { [CA_FILES.servers]: encoded(servers) ?? "" }) },
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

/** What has to become of it, where another CA is asked for than the one that signs or follows. */
export function turnFacts(
  pki: Pki,
  secret: Secret,
  asked: Asked,
): Pick<AuthorityFacts, "turn" | "successor"> | undefined {
  try {
    const authority = authorityIn(secret, "the CA");
    const turn = turnOf(pki, authority, asked);
    const isNext = turn === "Begin" || (!turn && authority.rotation.phase === "Bundle");
    const offered = isNext && asked.by === "others" ? asked.offered : undefined;
    if (!turn && !offered) return undefined;
    return { ...(turn && { turn }), ...(offered && { successor: idOf(pki, offered, "the given CA") }) };
  } catch (error) {
    if (!(error instanceof PkiError)) throw error;
    return undefined;
  }
}

export interface RotateContext {
  readonly client: KubeClient;
  readonly pki: Pki;
  readonly now: number;
  /** What somebody else gives now. */
  readonly offered: CaSet | undefined;
}

export async function rotateAuthority(
  { client, pki, now, offered }: RotateContext,
  { name: cluster, uid: owner, spec }: ClusterFacts,
  secret: Secret | undefined,
  action: Extract<Action, { kind: "RotateAuthority" }>,
): Promise<void> {
  const { plane } = action;
  if (!secret || !isControlledBy(secret, owner)) throw new Conflict(`the Secret of the ${plane} CA is gone`);
  const { name = "", namespace = "", uid = "", resourceVersion = "" } = secret.metadata ?? {};
  const before = authorityIn(secret, `Secret ${namespace}/${name}`);
  const { caMs: lifeMs } = lifetimesOf(spec.tls);
  const { successor: wanted, ...step } = action;
  if (wanted !== undefined && (!offered || idOf(pki, offered, "the given CA") !== wanted))
    throw new Conflict(`the given ${plane} CA has changed meanwhile`);
  const successor = wanted === undefined ? undefined : offered;
  const after = await advanced(pki, before, {
    ...step,
    ...(successor && { successor: { ...successor, given: true } as const }),
    cluster,
    now,
    lifeMs,
  });
  if (after === before) return;
  const patch = {
    metadata: { annotations: { [ANNOTATIONS.rotation]: noteOf(after) } },
    data: {
      [CA_FILES.certificate]: encoded(after.signer.certificate),
      [CA_FILES.key]: encoded(after.signer.key),
      [CA_FILES.bundle]: encoded(bundleOf(after)),
      [CA_FILES.other]: encoded(after.other?.certificate),
      [CA_FILES.otherKey]: encoded(after.other?.key),
      ...(usesServers(before) || usesServers(after)
        ? {
            [CA_FILES.servers]: encoded(after.signer.servers),
            [CA_FILES.otherServers]: encoded(after.other?.servers),
          }
        : {}),
    },
  };
  await client.patch(secrets, { name, namespace }, patch, { uid, resourceVersion });
}

function usesServers({ signer, other }: Authority): boolean {
  return signer.servers !== undefined || other?.servers !== undefined;
}

/** null takes a file away. */
function encoded(text: string | undefined): string | null {
  return text === undefined ? null : Buffer.from(text).toString("base64");
}
