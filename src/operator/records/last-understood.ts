/**
 * What a cluster is looked after by while its spec cannot be understood: the template and the size that its members
 * have, which a spec once asked for that could be; and of what shapes no member, those parts of the present spec that
 * are right by themselves. So a Pod that dies comes back and a broken member is replaced, and nothing new is applied.
 */
import type { EtcdClusterSpec } from "../../api/etcd-cluster-spec.ts";
import type { EtcdMember } from "../../api/etcd-member.ts";
import { API_VERSION } from "../../api/metadata.ts";
import { parseCluster } from "../../api/parse-cluster.ts";
import type { MemberTemplate } from "../../core/record.ts";
import { RELEASES } from "../../core/version/releases.ts";
import { templateHash } from "../../core/template/template.ts";
import { ANNOTATIONS } from "../names.ts";

export type Size = Pick<EtcdClusterSpec, "replicas" | "learners">;

/** For the annotation on the cluster: records alone do not tell a member that is missing from one that was not wanted. */
export function sizeNote({ replicas, learners }: Size): string {
  return JSON.stringify({ replicas, learners });
}

interface Understood {
  readonly metadata?: { readonly annotations?: Readonly<Record<string, string>> };
  readonly spec?: Readonly<Record<string, unknown>>;
}

/** Undefined where there is no member to look after. `members` are this cluster's own. */
export function lastUnderstood(
  { metadata, spec = {} }: Understood,
  members: readonly EtcdMember[],
): EtcdClusterSpec | undefined {
  const staying = members.filter((member) => member.spec.leaving === undefined);
  const template = mostCommon(staying.map((member) => member.spec.template));
  if (!template) return undefined;
  const { version, image, options, tls, pod } = template;
  return {
    ...partsOf(spec),
    version,
    image,
    options,
    tls,
    pod,
    storage: { ...template.storage, retention: retentionOf(spec["storage"]) },
    ...(readSize(metadata?.annotations?.[ANNOTATIONS.size]) ?? sizeOf(staying)),
    // Asleep by a spec that was understood, or by nobody's wish any more: whoever wakes them must be understood too.
    ...(staying.every((member) => !member.spec.run) && { replicas: 0 }),
  };
}

function mostCommon(templates: readonly MemberTemplate[]): MemberTemplate | undefined {
  const counts = new Map<string, number>();
  for (const template of templates) {
    const hash = templateHash(template);
    counts.set(hash, (counts.get(hash) ?? 0) + 1);
  }
  return templates.toSorted(
    (a, b) => (counts.get(templateHash(b)) ?? 0) - (counts.get(templateHash(a)) ?? 0),
  )[0];
}

/** Who retires has a successor, or will have one. */
function sizeOf(staying: readonly EtcdMember[]): Size {
  const wanted = staying.filter((member) => member.spec.retiring === undefined);
  const ofRole = (role: string) => wanted.filter((member) => member.spec.role === role).length;
  return { replicas: ofRole("Voter"), learners: ofRole("Learner") };
}

function readSize(note: string | undefined): Size | undefined {
  try {
    const { replicas, learners } = JSON.parse(note ?? "") as Partial<Size>;
    const size = parsed({ replicas, learners });
    return size && { replicas: size.replicas, learners: size.learners };
  } catch {
    return undefined;
  }
}

/** What no member is made from. */
const PARTS = [
  "metadata",
  "service",
  "disruptionBudget",
  "maintenance",
  "repair",
  "update",
  "paused",
  "progressDeadlineSeconds",
] as const;

function partsOf(spec: Readonly<Record<string, unknown>>): EtcdClusterSpec {
  const right = PARTS.flatMap((part) => {
    const value = parsed({ [part]: spec[part] })?.[part];
    return value === undefined ? [] : [[part, value] as const];
  });
  return { ...defaults(), ...Object.fromEntries(right) };
}

/** Where nobody can say what was meant, nothing is deleted. */
function retentionOf(storage: unknown): EtcdClusterSpec["storage"]["retention"] {
  const { retention } = (storage ?? {}) as { retention?: unknown };
  return parsed({ storage: { retention } })?.storage.retention ?? { onDelete: "Retain", onScaleIn: "Retain" };
}

function defaults(): EtcdClusterSpec {
  const spec = parsed({});
  if (!spec) throw new TypeError("an EtcdCluster with nothing but a version is not understood");
  return spec;
}

/** A spec of nothing else, by all the rules there are. */
function parsed(part: Readonly<Record<string, unknown>>): EtcdClusterSpec | undefined {
  const spec = { version: RELEASES.at(-1)?.knownGood, ...part };
  const metadata = { name: "part" };
  const result = parseCluster({ apiVersion: API_VERSION, kind: "EtcdCluster", metadata, spec });
  return result.ok ? result.cluster.spec : undefined;
}
