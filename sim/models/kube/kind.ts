/**
 * What the server knows of a kind: its names, its shape, and where it differs from all others on the way in. The
 * order of the steps is the API server's: decode (with defaults), admit, prepare, check.
 */
import type { Json, KubeJson } from "./object.ts";
import type { Cause } from "./refusal.ts";
import type { Schema } from "./schema.ts";

/** What a new object may be given by its surroundings. */
export interface Surroundings {
  /** The time, as the API writes it. */
  now(): string;
  /** As short random names are made, `x7k2p`. */
  suffix(): string;
  clusterIP(): string;
  isTaken(clusterIP: string): boolean;
  nodePort(): number;
  defaultStorageClass(): string | undefined;
  storageClass(name: string): KubeJson | undefined;
  /** For how long Pods tolerate a lost node when they do not say. */
  readonly tolerationSeconds: number;
}

export interface Kind {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly apiVersion: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  readonly schema: Schema;
  /** Typed in the server: unknown fields are dropped, empty ones too, and items of lists do not say what they are. */
  readonly builtIn: boolean;
  /** What a new one has before anything was written: structs that are always there. */
  readonly zero: Json;
  readonly hasStatus: boolean;
  readonly hasScale: boolean;
  /** Whether metadata.generation counts changes of the spec. */
  readonly counts: boolean;
  /** Whether a PUT may go without a resourceVersion, and whether it may make the object. */
  readonly unconditional: boolean;
  readonly createsOnUpdate: boolean;
  /** Whether a finished DELETE answers with the object rather than with a Status. */
  readonly answersDeleted: boolean;
  /** Whether the garbage collector knows it, so that its deletion can be made to wait for dependents. */
  readonly collected: boolean;
  /** Whether the first write after its making counts as a change though nothing differs. */
  readonly restless: boolean;
  /** Whether a write to status may also change labels and annotations. */
  readonly statusKeepsMetadata: boolean;
  /** Fields that can be selected by, besides name and namespace. */
  readonly selectable: Readonly<Record<string, (object: KubeJson) => string>>;
  decode(object: Json): Json;
  admit?(object: Json, surroundings: Surroundings): Json;
  prepare?(object: Json, old: KubeJson | undefined, surroundings: Surroundings): Json;
  check?(object: KubeJson, old: KubeJson | undefined, subresource: string): readonly Cause[];
  /** Why a change is forbidden that is not invalid. */
  forbids?(object: KubeJson, old: KubeJson, surroundings: Surroundings): string | undefined;
  /** Seconds of grace when it is deleted; undefined for kinds that know none. */
  grace?(object: KubeJson, asked: number | undefined): number;
}

export type KindInput = Pick<Kind, "kind" | "plural" | "schema"> & Partial<Kind> & { apiVersion: string };

export function kindOf(input: KindInput): Kind {
  const slash = input.apiVersion.indexOf("/");
  return {
    group: input.apiVersion.slice(0, Math.max(0, slash)),
    version: input.apiVersion.slice(slash + 1),
    namespaced: true,
    builtIn: true,
    zero: {},
    hasStatus: false,
    hasScale: false,
    counts: false,
    unconditional: true,
    createsOnUpdate: false,
    answersDeleted: false,
    restless: false,
    collected: true,
    statusKeepsMetadata: false,
    selectable: {},
    decode: (object) => object,
    ...input,
  };
}
