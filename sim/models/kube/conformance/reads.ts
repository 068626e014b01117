/** Random lists: selections, pages that are read on later, and versions from the past. */
import type { SeededRandom } from "../../../engine/random.ts";
import type { Requests } from "./calls.ts";
import type { Pair } from "./pairs.ts";
import { pathOf, type Slot, type Slots } from "./slots.ts";

export const LABELS = ["app=x", "app", "tier in (1,2)", "app!=y", "!gone", "app=x,tier=1"];
/** Every selection above has it. */
export const SELECTED = { app: "x", tier: "1" };

type Query = Record<string, string>;

/** A list that has more pages. */
export interface Pages {
  readonly path: string;
  readonly query: Readonly<Query>;
  readonly token: Pair;
}

/** Kinds of which a server has some of its own are asked for by namespace only. */
const SHARED = new Set(["configmaps", "secrets", "services", "leases"]);

export function inAllNamespaces(slot: Slot): Slot {
  return SHARED.has(slot.payload.kind.plural) ? slot : { ...slot, namespace: undefined };
}

export function nextList(
  random: SeededRandom,
  slots: Slots,
  versions: readonly Pair[],
  pages: Pages[],
): { readonly path: string; readonly query: Query; readonly requests: Requests } {
  const open = random.chance(0.5) ? pages.pop() : undefined;
  if (open) {
    const query = (token: string): Query => ({ ...open.query, continue: token });
    const make = (token: string) => ({ method: "GET" as const, path: open.path, query: query(token) });
    const requests = { real: make(open.token.real), model: make(open.token.model) };
    return { path: open.path, query: { ...open.query }, requests };
  }
  const slot = slots.pickOwn(random);
  const everywhere = random.chance(0.3) ? inAllNamespaces(slot) : slot;
  const path = pathOf(everywhere);
  const query: Query = {
    ...(random.chance(0.4) && { labelSelector: random.pick(LABELS) }),
    ...(random.chance(0.15) && { fieldSelector: `metadata.name=${slot.name}` }),
    ...(random.chance(0.05) && { fieldSelector: "spec.nodeName=" }),
    ...(random.chance(0.4) && { limit: String(random.between(1, 3)) }),
  };
  const version = random.chance(0.3) && versions.length > 0 ? random.pick(versions.slice(-50)) : undefined;
  const match = random.pick(["", "Exact", "NotOlderThan"]);
  const also: Query = {
    ...(match !== "" && (version !== undefined || random.chance(0.05)) && { resourceVersionMatch: match }),
  };
  const make = (side: keyof Pair) => ({
    method: "GET" as const,
    path,
    query: { ...query, ...also, ...(version && { resourceVersion: version[side] }) },
  });
  return { path, query, requests: { real: make("real"), model: make("model") } };
}
