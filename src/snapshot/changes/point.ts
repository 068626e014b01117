/**
 * Which snapshot and which segments lead to a revision or a time. A time means what had been received by then. Only names
 * and the segments in question are looked at here; all that is used is checked again while it is replayed.
 */
import type { Manifest } from "../manifest.ts";
import type { Decryption } from "../read.ts";
import type { Store } from "../store/store.ts";
import { ChangeLogError } from "./errors.ts";
import { readLog, type ChangeLog, type NamedSegment, type Position } from "./log.ts";
import { readSegment, type Segment, type SegmentHeader } from "./segment.ts";
import { basesOf, restoredRevision } from "./start.ts";

/** Neither: the latest that there is. */
export interface Target {
  readonly revision?: number | undefined;
  /** Milliseconds since the epoch. */
  readonly time?: number | undefined;
}

export interface PointOptions extends Decryption {
  readonly store: Store;
  readonly clusterId: string;
  readonly target: Target;
  readonly signal: AbortSignal;
}

export interface Point {
  readonly revision: number;
  readonly clusterId: string;
  readonly base: { readonly name: string; readonly manifest: Manifest };
  /** In order; none where the snapshot is the point. */
  readonly segments: readonly NamedSegment[];
  /** The follower was away from here to there, at the time in question: what changed then came in later. */
  readonly away?: { readonly from: string; readonly to: string };
}

export async function findPoint(options: PointOptions): Promise<Point> {
  const { store, clusterId, target, signal } = options;
  const bases = await basesOf(store, clusterId, signal);
  if (bases.length === 0)
    throw unreachable(`${store.uri} holds no complete snapshot of cluster ${clusterId}`);
  const log = await readLog(store, clusterId, signal);
  const { revision, away } = await revisionOf(options, log, bases);
  const base = bases.findLast(({ manifest }) => restoredRevision(manifest) <= revision);
  if (base === undefined)
    throw unreachable(
      `the oldest snapshot of cluster ${clusterId} in ${store.uri} has revision ${restoredRevision(bases[0]?.manifest as Manifest)}, and ${revision} is before it`,
    );
  const from = restoredRevision(base.manifest);
  const found = { revision, clusterId, base, ...(away && { away }) };
  if (from === revision) return { ...found, segments: [] };
  const all = log.stretches.flatMap(({ segments }) => segments);
  const newest = all.findLastIndex((segment) => segment.first <= from + 1);
  const first = (await reaching(options, all, newest, from + 1)) ?? newest;
  const segments = first < 0 ? [] : all.slice(first).filter((segment) => segment.first <= revision);
  if (segments.length === 0)
    throw unreachable(
      `the change log does not lead from revision ${from}, that of ${base.name}, to ${revision}${wording(target)}`,
    );
  const last = segments.at(-1) as NamedSegment;
  // Known before anything is restored; a damaged one is told of by its name.
  if ((await reaching(options, segments, segments.length - 1, revision)) === undefined)
    throw unreachable(
      `the change log ends with revision ${(await headerOf(options, last)).last}, and ${revision} was asked for`,
    );
  return { ...found, segments };
}

/** Segments of a second follower that overlap a longer one. */
const MOST_BACK = 64;

/** Where the revision is, at this place or before it: of two followers one may have ended in the middle of it. */
async function reaching(
  options: PointOptions,
  all: readonly NamedSegment[],
  from: number,
  revision: number,
): Promise<number | undefined> {
  for (let index = from; index >= 0 && index > from - MOST_BACK; index--) {
    const looked = await nearest(options, [{ segment: all[index] as NamedSegment }], 0);
    if ("header" in looked && looked.header.last >= revision) return index;
  }
  return undefined;
}

interface Resolved {
  readonly revision: number;
  readonly away?: { from: string; to: string };
}

type Base = Point["base"];

async function revisionOf(options: PointOptions, log: ChangeLog, bases: readonly Base[]): Promise<Resolved> {
  const { target } = options;
  if (target.revision !== undefined) return { revision: target.revision };
  const newest = restoredRevision((bases.at(-1) as Base).manifest);
  const last = log.stretches.at(-1)?.segments.at(-1);
  if (target.time === undefined) {
    const header = last && (await headerOf(options, last));
    const revision = Math.max(newest, header?.last ?? 0);
    requireAll(options, log, revision);
    return { revision };
  }
  return await received({ ...options, time: target.time }, log, bases);
}

/** A listing may be out of date; what was told last is read by its name, and is written after the segments. */
function requireAll({ store, clusterId }: PointOptions, { live }: ChangeLog, revision: number): void {
  if (live === undefined || live.revision <= revision) return;
  throw unreachable(
    `what ${store.uri} lists of cluster ${clusterId} ends with revision ${revision}, and ${live.revision} was recorded by ${live.time}: the listing is out of date, or an object was deleted. Try again later, or ask for revision ${revision}`,
  );
}

/** The last revision that had been received at the time. */
async function received(
  options: PointOptions & { readonly time: number },
  log: ChangeLog,
  bases: readonly Base[],
): Promise<Resolved> {
  const { time } = options;
  const all = log.stretches.flatMap(({ segments, end }, stretch) =>
    segments.map((segment, index) => ({ segment, stretch, end, isLast: index === segments.length - 1 })),
  );
  // Segments are in the order of their times: the last one that begins by then. Of damaged ones nobody knows.
  let [low, high] = [0, all.length];
  let damaged: ChangeLogError | undefined;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const looked = await nearest(options, all.slice(low, high), middle - low);
    if ("damaged" in looked) {
      ({ damaged } = looked);
      break;
    }
    if (Date.parse(looked.header.firstTime) <= time) low += looked.index + 1;
    else high = low + looked.index;
  }
  const here = all[low - 1];
  const next = all[high];
  const followed = next && (await headerOf(options, next.segment));
  if (here !== undefined) {
    const follows = damaged === undefined && next?.stretch === here.stretch ? followed : undefined;
    const { header, records } = await readUntil(options, all.slice(0, low), follows?.after ?? 0);
    const until = records.findLast((record) => record.kind === "revision" && record.time <= time);
    const revision = until?.kind === "revision" ? until.revision : header.after;
    if (Date.parse(header.lastTime) > time) return { revision };
    if (follows !== undefined && follows.after <= header.last)
      return { revision, ...awayAt(time, header.lastTime, follows) };
    if (followed === undefined && isLive(log.live, header, time)) return { revision };
  }
  // Between two stretches: a snapshot that the next one begins with, if it was taken by then.
  const base =
    followed && bases.findLast(({ manifest }) => restoredRevision(manifest) === followed.after)?.manifest;
  if (followed !== undefined && base !== undefined && Date.parse(base.completedAt) <= time)
    return { revision: followed.after, ...awayAt(time, base.completedAt, followed) };
  // Nothing has changed since a snapshot that was taken by then.
  const { live } = log;
  const isQuiet = ({ manifest }: Base) =>
    restoredRevision(manifest) === live?.revision && Date.parse(manifest.completedAt) <= time;
  if (live !== undefined && Date.parse(live.time) >= time && bases.some(isQuiet))
    return { revision: live.revision };
  throw damaged ?? unreachable(await why(options, log, here?.segment));
}

/** The last segment, or the one before it that overlaps it and reaches the revision. */
async function readUntil(
  options: PointOptions,
  all: readonly { readonly segment: NamedSegment }[],
  revision: number,
): Promise<Segment> {
  const segments = all.map(({ segment }) => segment);
  const index = await reaching(options, segments, segments.length - 1, revision);
  const { name } = segments.at(index ?? -1) as NamedSegment;
  return await readSegment({ ...options, name });
}

type Looked =
  | { readonly index: number; readonly header: SegmentHeader }
  | { readonly damaged: ChangeLogError };

/** The header of a segment, or of the nearest one that is not damaged; the first error where all are. */
async function nearest(
  options: PointOptions,
  all: readonly { readonly segment: NamedSegment }[],
  from: number,
): Promise<Looked> {
  let damaged: ChangeLogError | undefined;
  const nearestFirst = [...all.entries()].toSorted(([a], [b]) => Math.abs(a - from) - Math.abs(b - from));
  for (const [index, { segment }] of nearestFirst)
    try {
      return { index, header: await headerOf(options, segment) };
    } catch (error) {
      if (!(error instanceof ChangeLogError && error.fault === "damaged")) throw error;
      damaged ??= error;
    }
  if (damaged === undefined) throw new RangeError("there is no segment to look at");
  return { damaged };
}

function isLive(live: Position | undefined, { last }: SegmentHeader, time: number): boolean {
  return live?.revision === last && Date.parse(live.time) >= time;
}

/** Told where the follower came (again) only after the time: what changed before was received late. */
function awayAt(time: number, from: string, { since }: SegmentHeader): Pick<Resolved, "away"> {
  return Date.parse(since) > time ? { away: { from, to: since } } : {};
}

async function why(
  options: PointOptions & { readonly time: number },
  log: ChangeLog,
  here: NamedSegment | undefined,
): Promise<string> {
  const at = new Date(options.time).toISOString();
  if (here === undefined) return `nothing was recorded of the changes by ${at}`;
  const { last, lastTime } = await headerOf(options, here);
  const known = log.live?.revision === last ? log.live.time : lastTime;
  return `the changes by ${at} are not in the log: what was received by ${known} is (revision ${last})`;
}

async function headerOf(options: PointOptions, { name }: NamedSegment): Promise<SegmentHeader> {
  return (await readSegment({ ...options, name })).header;
}

function unreachable(why: string): ChangeLogError {
  return new ChangeLogError("unreachable", `${why}. \`snapshot ls\` shows what can be restored.`);
}

function wording({ time }: Target): string {
  return time === undefined ? "" : `, the last one received by ${new Date(time).toISOString()}`;
}
