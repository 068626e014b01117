/**
 * The volumes that a former life left, as the API server itself has them where the cache lacks one that the data names: it
 * may lack the label that the cache selects by, or the watch may be behind. What is settled from them is settled for good.
 */
import type { PersistentVolumeClaim } from "kubernetes-types/core/v1.d.ts";
import type { AbsentVolume, AdoptionFacts } from "../../core/facts/adoption-facts.ts";
import type { ClusterFacts } from "../../core/observation.ts";
import { claimName } from "../names.ts";
import {
  adoptionFacts,
  isOnNodes,
  withoutVolume,
  type AdoptionContext,
  type AdoptionObjects,
} from "../observe/adoption-facts.ts";
import { releasedVolumes } from "../observe/released-volumes.ts";
import { volumesNamed, type ListedVolumes } from "../apply/released-volumes.ts";
import type { KubeClient } from "../../kube/client.ts";
import type { LiveReads } from "./live-reads.ts";

interface Live extends Pick<LiveReads, "claim"> {
  /** PersistentVolumes that bear the name of the cluster. */
  volumes(): Promise<ListedVolumes>;
}

/** As a part of the facts, read from the API server where a cache does not hold it. */
export async function adoptionOf(
  around: { readonly client: KubeClient; readonly live: Pick<LiveReads, "claim">; readonly image?: string },
  cluster: ClusterFacts,
  objects: AdoptionObjects,
  now: number,
): Promise<{ adoption?: AdoptionFacts }> {
  const { client, live, image } = around;
  const reads: Live = {
    claim: (ref) => live.claim(ref),
    volumes: () => volumesNamed(client, cluster.name),
  };
  const adoption = await adoptionAsServed(reads, cluster, objects, { image, now });
  return adoption ? { adoption } : {};
}

export async function adoptionAsServed(
  live: Live,
  cluster: ClusterFacts,
  objects: AdoptionObjects,
  context: AdoptionContext,
): Promise<AdoptionFacts | undefined> {
  const cached = adoptionFacts(cluster, objects, context);
  if (!cached || cluster.marks.adopting) return cached;
  if (isOnNodes(cluster)) {
    const lacking = withoutVolume(cluster, cached).map((member) => ({
      member,
      object: `the directory of ${member} in spec.storage.adopt.directories`,
    }));
    return { ...cached, absent: lacking };
  }
  const found: PersistentVolumeClaim[] = [];
  const absent: AbsentVolume[] = [];
  for (const member of withoutVolume(cluster, cached)) {
    const name = claimName(member);
    const object = `PersistentVolumeClaim ${name}`;
    const read = await live.claim({ name, namespace: cluster.namespace });
    if ("error" in read) absent.push({ member, object, unread: read.error });
    else if (read.found) found.push(read.found);
    else absent.push({ member, object });
  }
  const all = [...objects.claims, ...found];
  const facts = found.length === 0 ? cached : adoptionFacts(cluster, { ...objects, claims: all }, context);
  return facts && { ...facts, absent, ...(await released(live, cluster, facts, absent, all)) };
}

/** Not asked for once everything that the data names is there. */
async function released(
  live: Pick<Live, "volumes">,
  cluster: ClusterFacts,
  { volumes }: AdoptionFacts,
  absent: readonly AbsentVolume[],
  claims: readonly PersistentVolumeClaim[],
): Promise<Pick<AdoptionFacts, "released" | "unlisted">> {
  const isRead = volumes.some(({ directory }) => directory?.state === "data");
  const isBound = claims.every(({ status }) => status?.phase === "Bound");
  if (isRead && isBound && absent.length === 0) return {};
  const answer = await live.volumes();
  if ("error" in answer) return { unlisted: { why: answer.error, isDenied: answer.isDenied } };
  return { released: releasedVolumes(cluster, answer.listed, claims) };
}
