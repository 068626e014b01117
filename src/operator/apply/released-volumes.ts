/**
 * Gives PersistentVolumes that outlived their claims a claim again, for a cluster that adopts them. The claim is made
 * first and names its volume; then the volume is given to that one claim by its UID, so that at no moment another claim
 * could have it. Both may be done again after a crash between them.
 */
import type { PersistentVolume, PersistentVolumeClaim } from "kubernetes-types/core/v1.d.ts";
import { Conflict, type ObjectAction } from "../../control/platform.ts";
import type { ClusterFacts } from "../../core/observation.ts";
import type { KubeClient } from "../../kube/client.ts";
import { isReason, KubeError } from "../../kube/errors.ts";
import { claimName, LABELS } from "../names.ts";
import { whyNotBound } from "../observe/released-volumes.ts";
import { claimOfVolume } from "../render/claim.ts";
import { claims, volumes } from "../resources.ts";
import { findOne } from "./keep.ts";

export type ListedVolumes =
  | { readonly listed: readonly PersistentVolume[] }
  | { readonly error: string; readonly isDenied: boolean };

/** Those that bear the name of a cluster, as the API server itself has them. */
export async function volumesNamed(client: KubeClient, cluster: string): Promise<ListedVolumes> {
  try {
    const { items } = await client.list(volumes, { labels: { [LABELS.cluster]: cluster } });
    return { listed: items };
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    return { error: error.message, isDenied: error.reason === "Forbidden" };
  }
}

export async function bindVolume(
  client: KubeClient,
  cluster: ClusterFacts,
  { member, volume: name, uid }: Extract<ObjectAction, { kind: "BindVolume" }>,
): Promise<void> {
  const volume = await client.get(volumes, { name });
  if (volume.metadata?.uid !== uid)
    throw new Conflict(`PersistentVolume ${name} has another UID than before`);
  const ref = { name: claimName(member), namespace: cluster.namespace };
  const before = await findOne(client, claims, ref);
  const refused =
    volume.spec?.claimRef?.name === ref.name
      ? whyNotBound(cluster, volume, before ? [before] : [])
      : "its claim was another one";
  if (refused !== undefined) throw new Conflict(`PersistentVolume ${name}: ${refused}`);
  const claim = before ?? (await created(client, claimOfVolume(cluster, member, volume)));
  const { uid: claimUID = "" } = claim.metadata ?? {};
  const claimRef = { uid: claimUID, resourceVersion: null };
  const { resourceVersion = "" } = volume.metadata;
  await client.patch(volumes, { name }, { spec: { claimRef } }, { uid, resourceVersion });
}

async function created(client: KubeClient, claim: PersistentVolumeClaim): Promise<PersistentVolumeClaim> {
  try {
    return await client.create(claims, claim);
  } catch (error) {
    if (!isReason(error, "AlreadyExists")) throw error;
    throw new Conflict(`the claim ${claim.metadata?.name} was made meanwhile`, { cause: error });
  }
}
