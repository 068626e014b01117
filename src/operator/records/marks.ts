/**
 * The marks of a cluster as annotations. What may never be forgotten (the life, the latch of I3, joins in
 * a batch) is copied onto every record that is written, so that an EtcdCluster that was replaced without its
 * annotations loses nothing. What cannot be read is reported, never guessed: the steps that need it wait, and only where
 * nobody can say whether this cluster ever existed (I3) everything does.
 */
import type { EtcdMember } from "../../api/etcd-member.ts";
import { GROUP } from "../../api/metadata.ts";
import type { ApiError } from "../../api/validate.ts";
import type { StepClass } from "../../core/action.ts";
import type { UnreadableMark } from "../../core/observation.ts";
import { clusterToken, FIRST_MARKS, isEstablished, type ClusterMarks } from "../../core/record.ts";
import { ANNOTATIONS } from "../names.ts";

type Annotations = Readonly<Record<string, string>>;

const KEYS: Readonly<Record<keyof ClusterMarks, string>> = {
  life: `${GROUP}/life`,
  established: `${GROUP}/established`,
  highestOrdinal: `${GROUP}/highest-ordinal`,
  batchJoined: `${GROUP}/batch-joined`,
  replaced: `${GROUP}/replaced`,
  failedTarget: `${GROUP}/failed-target`,
  oldLog: `${GROUP}/old-log`,
  recovered: `${GROUP}/recovered`,
  adopting: `${GROUP}/adopting`,
  tokenKey: `${GROUP}/token-key`,
};

/** A merge patch of annotations: null takes one away. */
export function marksToAnnotations(change: Partial<ClusterMarks>): Record<string, string | null> {
  const entries = Object.entries(change).map(([mark, value]): [string, string | null] => [
    KEYS[mark as keyof ClusterMarks],
    value === undefined ? null : JSON.stringify(value),
  ]);
  return Object.fromEntries(entries);
}

/** For a record's annotation: what is true for the rest of this life. */
export function lastingMarks({ life, established, batchJoined }: ClusterMarks): string {
  return JSON.stringify({ life, established, batchJoined });
}

export interface ReadMarks {
  readonly marks: ClusterMarks;
  /** What could not be read, and who has to wait for it. */
  readonly unreadable: readonly UnreadableMark[];
  /** With these nobody can say what this cluster is: it can be deleted, and nothing else. */
  readonly errors: readonly ApiError[];
}

/**
 * What waits for a mark that cannot be read. Without the highest name, nobody new may get one, nor the last one be
 * forgotten (H11); without what a recovery left, or which volumes are taken over, nobody is founded;
 * without the target that failed, or the minor in the log (H5), nobody is restarted for a change.
 * Replacements are counted anew, and joins in a batch are taken to have happened (H1). Which key members sign tokens with
 * is in their records too.
 */
const NEEDED_FOR: Readonly<Record<string, readonly StepClass[]>> = {
  [KEYS.highestOrdinal]: ["join", "record"],
  [KEYS.failedTarget]: ["roll"],
  [KEYS.oldLog]: ["roll"],
  [KEYS.recovered]: ["join"],
  [KEYS.adopting]: ["join", "record", "heal"],
};

/** The marks on the cluster, joined with the copies on its records: such facts only ever become more. */
export function marksOf(
  clusterUID: string,
  annotations: Annotations,
  members: readonly EtcdMember[],
): ReadMarks {
  const errors: ApiError[] = [];
  const unread: { readonly key: string; readonly path: string; readonly text: string }[] = [];
  const read = <T>(key: string, is: (value: unknown) => value is T, from: Annotations = annotations) => {
    const text = from[key];
    const value = text === undefined ? undefined : parse(text);
    if (text === undefined || is(value)) return value as T | undefined;
    unread.push({ key, path: `metadata.annotations[${key}]`, text });
    return undefined;
  };
  const copies = members.flatMap(
    ({ metadata }) => read(ANNOTATIONS.marks, isLasting, metadata.annotations ?? {}) ?? [],
  );
  const lives = members.map(({ spec }) => lifeIn(clusterUID, spec.token));
  const life = Math.max(
    read(KEYS.life, isOrdinal) ?? FIRST_MARKS.life,
    ...copies.map((copy) => copy.life),
    ...lives,
  );
  const latches = [read(KEYS.established, isEstablishment), ...copies.map((copy) => copy.established)];
  const token = clusterToken(clusterUID, { ...FIRST_MARKS, life });
  const established = latches.find((latch) => latch?.token === token) ?? latches.find(Boolean);
  const batchJoined =
    annotations[KEYS.batchJoined] !== undefined || copies.some((copy) => copy.batchJoined) || undefined;
  read(KEYS.batchJoined, (value) => value === true);
  const replaced = read(KEYS.replaced, isTimes);
  const failedTarget = read(KEYS.failedTarget, isFailedTarget);
  const oldLog = read(KEYS.oldLog, isOldLog);
  const recovered = read(KEYS.recovered, isRecovered);
  const adopting = read(KEYS.adopting, isAdoption);
  const tokenKey = read(KEYS.tokenKey, isTokenKey);
  const marks: ClusterMarks = {
    life,
    highestOrdinal: read(KEYS.highestOrdinal, isOrdinal) ?? FIRST_MARKS.highestOrdinal,
    ...(established && { established }),
    ...(batchJoined && { batchJoined }),
    ...(replaced && { replaced }),
    ...(failedTarget && { failedTarget }),
    ...(oldLog && { oldLog }),
    ...(recovered && { recovered }),
    ...(adopting && { adopting }),
    ...(tokenKey && { tokenKey }),
  };
  const joined = members.find(({ spec }) => spec.joined && spec.token === token);
  if (joined && !isEstablished(clusterUID, marks)) {
    // Without the latch this cluster would look as if it had never existed (I3).
    const message = `is missing, but ${joined.metadata.name} has joined: restore it as {"token":"${token}","clusterID":"<etcd's cluster ID in hexadecimal>"}`;
    errors.push({ path: `metadata.annotations[${KEYS.established}]`, message });
  }
  // By a latch of this very life everybody knows that the cluster exists, and which life it is in.
  const known = isEstablished(clusterUID, marks);
  const isVital = (key: string) => [KEYS.life, KEYS.established, ANNOTATIONS.marks].includes(key);
  for (const { key, path, text } of unread)
    if (isVital(key) && !known)
      errors.push({
        path,
        message: `cannot be read (${text}): restore its value, or remove the annotation`,
      });
  const unreadable = unread.map(({ key, path, text }) => ({
    path,
    message: `cannot be read (${text})`,
    holds: NEEDED_FOR[key] ?? [],
  }));
  return { marks, unreadable, errors };
}

/** The life in a token of this cluster; 0 in one of another. */
function lifeIn(clusterUID: string, token: string): number {
  const life = token.startsWith(`${clusterUID}-`) ? Number(token.slice(clusterUID.length + 1)) : 0;
  return isOrdinal(life) ? life : 0;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

type Lasting = Pick<ClusterMarks, "life" | "established" | "batchJoined">;
type Fields = Readonly<Record<string, unknown>>;

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isOrdinal(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isEstablishment(value: unknown): value is NonNullable<ClusterMarks["established"]> {
  return isFields(value) && hasTexts(value, "token", "clusterID");
}

function isFailedTarget(value: unknown): value is NonNullable<ClusterMarks["failedTarget"]> {
  return isFields(value) && hasTexts(value, "hash", "member", "reason");
}

function isOldLog(value: unknown): value is NonNullable<ClusterMarks["oldLog"]> {
  if (!isFields(value) || !hasTexts(value, "minor")) return false;
  return value["until"] === undefined || typeof value["until"] === "number";
}

function isRecovered(value: unknown): value is NonNullable<ClusterMarks["recovered"]> {
  return isFields(value) && hasTexts(value, "plan", "operation") && isFields(value["restore"]);
}

function isAdoption(value: unknown): value is NonNullable<ClusterMarks["adopting"]> {
  if (!isFields(value) || !hasTexts(value, "clusterID") || !Array.isArray(value["members"])) return false;
  const members: readonly unknown[] = value["members"];
  return members.every((one) => isFields(one) && hasTexts(one, "name", "memberID", "peerURL"));
}

function isTokenKey(value: unknown): value is NonNullable<ClusterMarks["tokenKey"]> {
  return isFields(value) && isOrdinal(value["number"]) && typeof value["since"] === "number";
}

function isTimes(value: unknown): value is Readonly<Record<string, number>> {
  return isFields(value) && Object.values(value).every((at) => typeof at === "number");
}

function isLasting(value: unknown): value is Lasting {
  if (!isFields(value) || !isOrdinal(value["life"])) return false;
  const latch = value["established"];
  return latch === undefined || isEstablishment(latch);
}

function hasTexts(value: Fields, ...keys: string[]): boolean {
  return keys.every((key) => typeof value[key] === "string");
}
