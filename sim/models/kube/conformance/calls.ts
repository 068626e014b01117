/** Random calls on random objects: what a controller, its users and its rivals would do, good and bad. */
import { asApplied } from "../../../../src/kube/ownership.ts";
import type { KubeMethod, KubeRequest } from "../../../../src/seams/kube-transport.ts";
import { SeededRandom } from "../../../engine/random.ts";
import { json, type Json } from "../object.ts";
import { mergePatch } from "../patches.ts";
import type { ModelServer } from "../server.ts";
import type { Side } from "./pairs.ts";
import { metaOf, pathOf, type Both, type Slot, type Slots } from "./slots.ts";

export type Requests = Both<KubeRequest>;

interface Making {
  readonly model: ModelServer;
  readonly random: SeededRandom;
  readonly slots: Slots;
  readonly slot: Slot;
}

const MANAGERS = ["first", "second"];
const STRANGER = "00000000-0000-4000-8000-000000000000";
const FINALIZER = "example.com/hold";

function both(make: (side: Side) => KubeRequest): Requests {
  return { real: make("real"), model: make("model") };
}

function plain(method: KubeMethod, path: string, rest: Partial<KubeRequest> = {}): Requests {
  const request = { method, path, ...rest };
  return { real: request, model: request };
}

function labels(random: SeededRandom): Json {
  return {
    ...(random.chance(0.6) && { app: random.pick(["x", "y"]) }),
    ...(random.chance(0.4) && { tier: random.pick(["1", "2"]) }),
  };
}

/** Metadata of a new object, without its name. */
function metadata(random: SeededRandom, side: Side, owner: Both<Json> | undefined): Json {
  return {
    ...(random.chance(0.6) && { labels: labels(random) }),
    ...(random.chance(0.3) && { annotations: { note: random.pick(["1", "2"]) } }),
    ...(random.chance(0.2) && { finalizers: [FINALIZER] }),
    ...(owner && random.chance(0.3) && { ownerReferences: [reference(owner[side])] }),
  };
}

function reference(owner: Json): Json {
  const { name, uid } = metaOf(owner);
  return { apiVersion: owner["apiVersion"], kind: owner["kind"], name, uid, blockOwnerDeletion: false };
}

/** The same random choices for both sides. */
function twice(random: SeededRandom, make: (random: SeededRandom, side: Side) => KubeRequest): Requests {
  const seed = random.next();
  return both((side) => make(new SeededRandom(seed), side));
}

function create(making: Making): Requests {
  const { slot, slots } = making;
  const owner = slots.pickSeen(making.random);
  return twice(making.random, (random, side) => {
    const how = random.fraction();
    const name =
      how < 0.05
        ? { generateName: `made-${random.between(10_000, 99_999)}-` }
        : { name: how < 0.08 ? "Not_Valid" : slot.name };
    const body = {
      apiVersion: slot.payload.kind.apiVersion,
      kind: slot.payload.kind.kind,
      metadata: { ...name, ...metadata(random, side, owner) },
      ...slot.payload.whole(random, slot.name),
    };
    const query = { fieldManager: random.pick(MANAGERS) };
    return { method: "POST", path: pathOf(slot), query, body };
  });
}

/** The newest state that was seen, or an older one. */
function base({ random, slot }: Making, staleness = 0.2): Both<Json> | undefined {
  return random.chance(staleness) && slot.seen.length > 0 ? random.pick(slot.seen) : slot.seen.at(-1);
}

function metadataChange(random: SeededRandom): Json {
  return random.pick<Json>([
    { labels: { app: random.pick(["x", "y", null]) } },
    { annotations: { note: random.pick(["1", "2", "3", null]) } },
    { finalizers: random.pick([[FINALIZER], [], null, [FINALIZER, "example.com/other"]]) },
    { labels: null },
    {},
  ]);
}

function replace(making: Making): Requests | undefined {
  const { slot } = making;
  const known = base(making);
  if (known === undefined) return undefined;
  return twice(making.random, (random, side) => {
    const change = random.chance(0.5) ? slot.payload.change(random) : {};
    const patched = mergePatch(known[side], {
      ...change,
      ...(random.chance(0.5) && { metadata: metadataChange(random) }),
    }) as Json;
    const how = random.fraction();
    const own: Record<string, unknown> = { ...metaOf(patched) };
    if (random.chance(0.7)) delete own["managedFields"];
    if (how < 0.1) delete own["resourceVersion"];
    else if (how < 0.15) own["uid"] = STRANGER;
    else if (how < 0.2) delete own["uid"];
    const query = { fieldManager: random.pick(MANAGERS) };
    return { method: "PUT", path: pathOf(slot, slot.name), query, body: { ...patched, metadata: own } };
  });
}

function mergePatched(making: Making): Requests {
  const { slot } = making;
  const known = base(making);
  return twice(making.random, (random, side) => {
    const how = random.fraction();
    const meta = known && metaOf(known[side]);
    const body = {
      ...(random.chance(0.7) && slot.payload.change(random)),
      metadata: {
        ...(random.chance(0.5) && metadataChange(random)),
        ...(meta && how < 0.5 && { uid: meta["uid"] }),
        ...(how > 0.9 && { uid: STRANGER }),
        ...(meta && random.chance(0.2) && { resourceVersion: meta["resourceVersion"] }),
      },
    };
    return {
      method: "PATCH",
      path: pathOf(slot, slot.name),
      query: { fieldManager: random.pick(MANAGERS) },
      contentType: "application/merge-patch+json",
      body,
    };
  });
}

function applied(making: Making, subresource?: "status"): Requests {
  const { slot } = making;
  const known = base(making);
  return twice(making.random, (random, side) => {
    const how = random.fraction();
    const { kind, wanted, status } = slot.payload;
    const content = subresource === undefined ? wanted(random, slot.name) : { status: status?.(random) };
    const meta = known && metaOf(known[side]);
    const body = {
      apiVersion: kind.apiVersion,
      kind: kind.kind,
      metadata: {
        name: slot.name,
        ...(random.chance(0.5) && { labels: { ...labels(random), applied: "yes" } }),
        ...(random.chance(0.2) && { finalizers: [FINALIZER] }),
        ...(meta && how < 0.5 && { uid: meta["uid"] }),
        ...(how > 0.95 && { uid: STRANGER }),
        ...(meta && random.chance(0.1) && { resourceVersion: meta["resourceVersion"] }),
      },
      ...content,
    };
    const query = { fieldManager: random.pick(MANAGERS), force: String(random.chance(0.6)) };
    const path = pathOf(slot, slot.name, subresource);
    return { method: "PATCH", path, query, contentType: "application/apply-patch+yaml", body };
  });
}

function patchStatus(making: Making): Requests | undefined {
  const { slot } = making;
  const known = base(making);
  const { status } = slot.payload;
  if (status === undefined) return undefined;
  if (making.random.chance(0.3)) return applied(making, "status");
  return twice(making.random, (random, side) => {
    const meta = known && metaOf(known[side]);
    const body = {
      status: status(random),
      ...(random.chance(0.2) && slot.payload.change(random)),
      metadata: {
        ...(random.chance(0.2) && metadataChange(random)),
        ...(meta && random.chance(0.5) && { uid: meta["uid"] }),
        ...(meta && random.chance(0.2) && { resourceVersion: meta["resourceVersion"] }),
      },
    };
    const query = { fieldManager: random.pick(MANAGERS) };
    const path = pathOf(slot, slot.name, "status");
    return { method: "PATCH", path, query, contentType: "application/merge-patch+json", body };
  });
}

/** What src/kube/ownership.ts does: fields set by POST become the applier's. */
function ownByApply({ slot, random }: Making): Requests | undefined {
  const known = slot.seen.at(-1);
  if (known === undefined) return undefined;
  const manager = random.pick(MANAGERS);
  return both((side) => {
    const { uid, resourceVersion, managedFields = [] } = metaOf(known[side]);
    const value = asApplied(managedFields as readonly object[], manager) ?? managedFields;
    const body = [
      { op: "test", path: "/metadata/uid", value: uid },
      { op: "replace", path: "/metadata/resourceVersion", value: resourceVersion },
      { op: "replace", path: "/metadata/managedFields", value },
    ];
    const path = pathOf(slot, slot.name);
    return { method: "PATCH", path, contentType: "application/json-patch+json", body };
  });
}

function remove(making: Making): Requests {
  const { slot } = making;
  const known = base(making);
  return twice(making.random, (random, side) => {
    const meta = known && metaOf(known[side]);
    const how = random.fraction();
    const isAboutDependents = random.chance(0.4);
    const preconditions = {
      ...(meta && how < 0.5 && { uid: meta["uid"] }),
      ...(how > 0.95 && { uid: STRANGER }),
      // Together with a change of heart about dependents a real server trips over its own first write.
      ...(meta && !isAboutDependents && random.chance(0.2) && { resourceVersion: meta["resourceVersion"] }),
    };
    const body = {
      kind: "DeleteOptions",
      apiVersion: "v1",
      preconditions,
      ...(isAboutDependents && {
        propagationPolicy: random.pick(["Background", "Foreground", "Orphan", "Background", "Sideways"]),
      }),
      ...(random.chance(0.2) && { gracePeriodSeconds: random.pick([0, 10]) }),
    };
    return { method: "DELETE", path: pathOf(slot, slot.name), body };
  });
}

function scale({ slot, random, model }: Making): Requests | undefined {
  if (!slot.payload.kind.hasScale) return undefined;
  const path = pathOf(slot, slot.name, "scale");
  if (random.chance(0.4)) return plain("GET", path);
  const replicas = random.pick([0, 1, 3, 5, 11]);
  // One that changes nothing splits an entry of managedFields in two on a real server. Nobody reads that.
  const { name, namespace } = slot;
  if (json(model.get(slot.payload.kind, `${namespace}/${name}`)?.["spec"])["replicas"] === replicas)
    return undefined;
  const body = { spec: { replicas } };
  const contentType = "application/merge-patch+json";
  return plain("PATCH", path, { body, contentType, query: { fieldManager: "first" } });
}

function evict({ slot }: Making): Requests | undefined {
  if (slot.payload.kind.plural !== "pods") return undefined;
  const body = {
    apiVersion: "policy/v1",
    kind: "Eviction",
    metadata: { name: slot.name, namespace: slot.namespace },
  };
  return plain("POST", pathOf(slot, slot.name, "eviction"), { body });
}

const MIX: readonly (readonly [number, (making: Making) => Requests | undefined])[] = [
  [20, create],
  [14, replace],
  [14, mergePatched],
  [16, (making) => applied(making)],
  [8, patchStatus],
  [4, ownByApply],
  [10, remove],
  [3, scale],
  [1, evict],
  [8, ({ slot }) => plain("GET", pathOf(slot, slot.name))],
];
const SUM = MIX.reduce((sum, [weight]) => sum + weight, 0);

export interface Planned {
  readonly slot: Slot;
  readonly requests: Requests;
}

export function nextCall(random: SeededRandom, slots: Slots, model: ModelServer): Planned {
  for (;;) {
    const slot = slots.pick(random);
    let left = random.between(1, SUM);
    for (const [weight, make] of MIX) {
      left -= weight;
      if (left > 0) continue;
      const requests = make({ random, slots, slot, model });
      if (requests !== undefined) return { slot, requests };
      break;
    }
  }
}

export function isObject(body: unknown): boolean {
  return json(body)["kind"] !== "Status" && metaOf(json(body))["uid"] !== undefined;
}
