/**
 * Labels and annotations that the spec gives to the objects of a cluster. They change in place; on objects that are not
 * applied (server-side) a note tells which of them came from the spec, so that they can be taken away again, and nothing
 * that others wrote there.
 */
import type { CommonMetadata } from "../../api/etcd-cluster-spec.ts";
import { ANNOTATIONS } from "../names.ts";

type Texts = Readonly<Record<string, string>>;
type KubeObject = { readonly metadata?: { readonly labels?: Texts; readonly annotations?: Texts } };
type Changes = Record<string, string | null>;

export interface Given {
  readonly labels: Texts;
  readonly annotations: Texts;
}

export type MetadataPatch = {
  readonly metadata: { readonly labels?: Changes; readonly annotations?: Changes };
};

/** Later ones win. */
export function givenBy(...parts: readonly (CommonMetadata | Given | undefined)[]): Given {
  return {
    labels: Object.assign({}, ...parts.map((part) => part?.labels)) as Texts,
    annotations: Object.assign({}, ...parts.map((part) => part?.annotations)) as Texts,
  };
}

/** The object with what it is given, and a note of that; labels and annotations that it has already win. */
export function withGiven<T extends KubeObject>(object: T, given: Given): T {
  const note = noteOf(given);
  if (note === undefined) return object;
  const { labels, annotations } = object.metadata ?? {};
  const metadata = {
    ...object.metadata,
    ...(Object.keys(given.labels).length > 0 && { labels: { ...given.labels, ...labels } }),
    annotations: { ...given.annotations, ...annotations, [ANNOTATIONS.given]: note },
  };
  return { ...object, metadata };
}

/** A merge patch from what an object has to `wanted`, which includes what it is given; undefined when it is so already. */
export function metadataPatch(
  { metadata: have }: KubeObject,
  wanted: { readonly labels?: Texts | undefined; readonly annotations?: Texts | undefined } | undefined,
  given: Given,
): MetadataPatch | undefined {
  const before = readNote(have?.annotations?.[ANNOTATIONS.given]);
  const note = noteOf(given);
  const labels = changes(have?.labels, wanted?.labels, before.labels);
  const annotations = changes(
    have?.annotations,
    { ...wanted?.annotations, ...(note !== undefined && { [ANNOTATIONS.given]: note }) },
    [...before.annotations, ...(note === undefined ? [ANNOTATIONS.given] : [])],
  );
  const patch = { ...(labels && { labels }), ...(annotations && { annotations }) };
  return Object.keys(patch).length === 0 ? undefined : { metadata: patch };
}

/** What is added and changed alone; the note stays as it is, so that what was given before is not forgotten. */
export function withoutRemovals(patch: MetadataPatch | undefined): MetadataPatch | undefined {
  const { labels = {}, annotations = {} } = patch?.metadata ?? {};
  const added = (all: Changes) =>
    Object.fromEntries(
      Object.entries(all).filter(([key, value]) => value !== null && key !== ANNOTATIONS.given),
    );
  const metadata = { labels: added(labels), annotations: added(annotations) };
  const isEmpty = Object.values(metadata).every((map) => Object.keys(map).length === 0);
  return isEmpty ? undefined : { metadata };
}

function changes(
  have: Texts | undefined = {},
  want: Texts | undefined = {},
  ours: readonly string[],
): Changes | undefined {
  const patch: Changes = {};
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
