/** What was seen of each object on both sides, so that calls can be made in the state they were decided on, or an old one. */
import type { SeededRandom } from "../../../engine/random.ts";
import { json, type Json } from "../object.ts";
import type { Side } from "./pairs.ts";
import type { Payload } from "./payload.ts";

export type Both<T> = Readonly<Record<Side, T>>;

/** A name in a place. */
export interface Slot {
  readonly payload: Payload;
  readonly namespace: string | undefined;
  readonly name: string;
  /** Oldest first. */
  readonly seen: Both<Json>[];
}

export class Slots {
  readonly #slots: Slot[];

  constructor(payloads: readonly Payload[], namespaces: readonly string[]) {
    this.#slots = payloads.flatMap((payload) =>
      (payload.kind.namespaced ? namespaces : [undefined]).flatMap((namespace) =>
        payload.names.map((name): Slot => ({ payload, namespace, name, seen: [] })),
      ),
    );
  }

  pick(random: SeededRandom): Slot {
    return random.pick(this.#slots);
  }

  /** One of a kind that nobody but us writes. */
  pickOwn(random: SeededRandom): Slot {
    return random.pick(this.#slots.filter(({ payload }) => payload.kind.plural !== "events"));
  }

  /** Any object that was ever seen. */
  pickSeen(random: SeededRandom): Both<Json> | undefined {
    const seen = this.#slots.filter((slot) => slot.seen.length > 0);
    return seen.length === 0 ? undefined : random.pick(random.pick(seen).seen);
  }

  /** Forgets everything: the objects were cleared away. */
  clear(): void {
    for (const { seen } of this.#slots) seen.length = 0;
  }
}

export function pathOf({ payload, namespace }: Slot, name?: string, subresource?: string): string {
  const { group, version, plural } = payload.kind;
  const parts = [group === "" ? `/api/${version}` : `/apis/${group}/${version}`];
  if (namespace !== undefined) parts.push("namespaces", namespace);
  parts.push(plural);
  if (name !== undefined) parts.push(name);
  if (subresource !== undefined) parts.push(subresource);
  return parts.join("/");
}

export function metaOf(object: Json): Json {
  return json(object["metadata"]);
}
