/** What the random calls write of one kind. */
import type { SeededRandom } from "../../../engine/random.ts";
import type { Kind } from "../kind.ts";
import type { Json } from "../object.ts";

export interface Payload {
  readonly kind: Kind;
  readonly names: readonly string[];
  /** Everything but metadata of a new one. */
  readonly whole: (random: SeededRandom, name: string) => Json;
  /** Everything but metadata of a merge patch; null removes. */
  readonly change: (random: SeededRandom) => Json;
  /** What an applier states. */
  readonly wanted: (random: SeededRandom, name: string) => Json;
  readonly status?: (random: SeededRandom) => Json;
}

export const NAMES: readonly string[] = ["one", "two", "three"];

/** Some of the fields. */
export function some(random: SeededRandom, fields: Json, probability = 0.6): Json {
  return Object.fromEntries(Object.entries(fields).filter(() => random.chance(probability)));
}

export const digits = (random: SeededRandom): string => String(random.between(1, 3));
