/**
 * Labels and annotations of a Pod that exists: the role that changes when a learner is promoted, and what the
 * spec gives. They change in place; which of them are ours to take away again is noted on the Pod.
 */
import type { Pod } from "kubernetes-types/core/v1.d.ts";
import type { MemberTemplate } from "../../core/record.ts";
import type { MemberView, View } from "../../core/view.ts";
import { ANNOTATIONS, LABELS } from "../names.ts";
import type { PodRole } from "../render/metadata.ts";

type Given = Pick<MemberTemplate["pod"], "labels" | "annotations">;
type Texts = Readonly<Record<string, string>>;

type Changes = Record<string, string | null>;

export interface MetadataPatch {
  readonly metadata: { readonly labels?: Changes; readonly annotations?: Changes };
}

/** The Pod with a note of what it was given. */
export function withGiven(pod: Pod, given: Given): Pod {
  const note = noteOf(given);
  if (note === undefined) return pod;
  const annotations = { ...pod.metadata?.annotations, [ANNOTATIONS.given]: note };
  return { ...pod, metadata: { ...pod.metadata, annotations } };
}

/** A merge patch that brings the metadata of `pod` to what is wanted; undefined when it is so already. */
export function metadataPatch(pod: Pod, wanted: Pod, given: Given): MetadataPatch | undefined {
  const before = readNote(pod.metadata?.annotations?.[ANNOTATIONS.given]);
  // What it was started from does not change with the record, and a touch is more than a note.
  const {
    [ANNOTATIONS.startedFrom]: _start,
    [ANNOTATIONS.latched]: _touch,
    ...annotations
  } = wanted.metadata?.annotations ?? {};
  const note = noteOf(given);
  const labels = changes(pod.metadata?.labels, wanted.metadata?.labels, before.labels);
  const notes = changes(
    pod.metadata?.annotations,
    { ...annotations, ...(note !== undefined && { [ANNOTATIONS.given]: note }) },
    [...before.annotations, ...(note === undefined ? [ANNOTATIONS.given] : [])],
  );
  const patch = { ...(labels && { labels }), ...(notes && { annotations: notes }) };
  return Object.keys(patch).length === 0 ? undefined : { metadata: patch };
}

function changes(
  have: Texts | undefined = {},
  want: Texts | undefined = {},
  ours: readonly string[],
): Record<string, string | null> | undefined {
  const patch: Record<string, string | null> = {};
  for (const [key, value] of Object.entries(want))
    if (!Object.hasOwn(have, key) || have[key] !== value) patch[key] = value;
  // Own keys only: a label may be called as something that every object has.
  for (const key of ours) if (!Object.hasOwn(want, key) && Object.hasOwn(have, key)) patch[key] = null;
  return Object.keys(patch).length === 0 ? undefined : patch;
}

interface Note {
  readonly labels: readonly string[];
  readonly annotations: readonly string[];
}

function noteOf({ labels, annotations }: Given): string | undefined {
  const note: Note = {
    labels: Object.keys(labels).toSorted(),
    annotations: Object.keys(annotations).toSorted(),
  };
  return note.labels.length + note.annotations.length === 0 ? undefined : JSON.stringify(note);
}

/** Somebody may have written nonsense there; then nothing is taken away. */
function readNote(text: string | undefined): Note {
  const nothing: Note = { labels: [], annotations: [] };
  try {
    const note = JSON.parse(text ?? "{}") as Partial<Note>;
    const keys = (list: unknown) =>
      Array.isArray(list) ? list.filter((key) => typeof key === "string") : [];
    return { labels: keys(note.labels), annotations: keys(note.annotations) };
  } catch {
    return nothing;
  }
}

/** The role that a Pod is labelled with: clients are sent to voters that are not fenced. */
export function podRole(view: View, member: MemberView, pod: Pod | undefined): PodRole {
  const votes = isVoter(view, member, pod);
  if (member.fenced) return votes ? "fenced-voter" : "fenced-learner";
  return votes ? "voter" : "learner";
}

/** Founders vote from the start; whoever joins does from its promotion on. As labelled while etcd does not answer. */
function isVoter(view: View, { entry, record }: MemberView, pod: Pod | undefined): boolean {
  if (entry) return !entry.isLearner;
  const known = pod?.metadata?.labels?.[LABELS.role];
  if (known === "voter" || known === "fenced-voter") return true;
  if (known === "learner" || known === "fenced-learner") return false;
  const hasVoted = record.joined && record.role === "Voter" && !view.observation.etcd.list;
  return record.boot === "New" || hasVoted;
}
