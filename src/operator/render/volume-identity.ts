/**
 * What a volume holds, written on its claim: whose data it is, of which life of the cluster, of which member of etcd, and
 * when it was last used. A claim may outlive its record and its cluster; whoever finds it then can tell by itself.
 */
import { ANNOTATIONS, LABELS } from "../names.ts";
import type { ClusterFacts } from "../../core/observation.ts";
import { peerURLOf } from "../../core/config/flags.ts";
import type { Identity } from "./metadata.ts";
import type { MemberRecord } from "../../core/record.ts";

type Texts = Readonly<Record<string, string>>;

export interface VolumeIdentity {
  readonly labels: Texts;
  readonly annotations: Texts;
}

type Named = Pick<MemberRecord, "token" | "address" | "memberID" | "template">;

/** What is known when a volume is made. Of the URL, only the scheme may change. */
export function claimIdentity(record: Pick<Named, "token" | "address" | "template">): Texts {
  return { [ANNOTATIONS.token]: record.token, [ANNOTATIONS.peerURL]: peerURLOf(record) };
}

/** Of a member that has joined: from then on there is something to be told from other data. */
export function volumeIdentity(
  { marks }: Pick<ClusterFacts, "marks">,
  record: Named & Pick<MemberRecord, "joined">,
): VolumeIdentity {
  const { established } = marks;
  if (!record.joined) return { labels: {}, annotations: claimIdentity(record) };
  return {
    labels: {
      ...(established?.token === record.token && { [LABELS.clusterID]: established.clusterID }),
      ...(record.memberID !== undefined && { [LABELS.memberID]: record.memberID }),
    },
    annotations: { ...claimIdentity(record), [ANNOTATIONS.etcdVersion]: record.template.version },
  };
}

/** The same for the PersistentVolume, which nothing else tells whose it is once its claim is gone. */
export function volumeMark(
  cluster: Identity & Pick<ClusterFacts, "marks">,
  record: MemberRecord,
  podCreated: string,
): VolumeIdentity {
  const { labels, annotations } = volumeIdentity(cluster, record);
  return {
    labels: {
      [LABELS.cluster]: cluster.name,
      [LABELS.clusterUID]: cluster.uid,
      [LABELS.member]: record.name,
      ...labels,
    },
    annotations: { ...annotations, [ANNOTATIONS.lastUsed]: podCreated },
  };
}

/**
 * When it was last used: since its Pod was made, or until it was gone. `have` are the annotations of the claim. Written
 * at the start and at the end alone, so that a member at rest causes no writes (I7).
 */
export function useOf(
  have: Texts | undefined,
  podCreated: string | undefined,
  isAbsent: boolean,
  now: number,
): Readonly<Record<string, string | null>> {
  if (podCreated !== undefined) return { [ANNOTATIONS.inUse]: "true", [ANNOTATIONS.lastUsed]: podCreated };
  if (!isAbsent || have?.[ANNOTATIONS.inUse] === undefined) return {};
  return { [ANNOTATIONS.inUse]: null, [ANNOTATIONS.lastUsed]: new Date(now).toISOString() };
}
