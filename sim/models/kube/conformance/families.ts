/**
 * Owners and dependents: random families, some members of which are deleted in one way or another. What is left in
 * the end must be the same with the model's garbage collector and with the real one, whenever they get to it.
 */
import type { KubeRequest, KubeResponse } from "../../../../src/seams/kube-transport.ts";
import type { SeededRandom } from "../../../engine/random.ts";
import type { Kind } from "../kind.ts";
import { configMaps, leases, secrets } from "../kinds/simple.ts";
import { items, json, type Json } from "../object.ts";
import { metaOf } from "./slots.ts";

export type Send = (request: KubeRequest) => Promise<KubeResponse>;

interface Relative {
  readonly kind: Kind;
  readonly name: string;
  /** Indexes of its owners, and whether it keeps each from going; -1 is one that never was. */
  readonly owners: readonly { readonly index: number; readonly blocks: boolean }[];
  readonly held: boolean;
  readonly deleted: "Background" | "Foreground" | "Orphan" | undefined;
}

export type Family = readonly Relative[];

const KINDS = [configMaps, secrets, leases];
const HOLD = "example.com/hold";

/**
 * Only what is left in any order of work: roots alone are deleted, who has several owners has none that lets go of
 * its dependents, and who is held has no dependents and roots for owners.
 */
export function randomFamily(random: SeededRandom, size = 8): Family {
  const family: Relative[] = [];
  for (let i = 0; i < size; i++) {
    const held = random.chance(0.15);
    const possible = family.flatMap((owner, index) =>
      owner.held || (held && owner.owners.length > 0) ? [] : [{ index, blocks: random.chance(0.5) }],
    );
    const some = possible.filter(() => random.chance(0.4)).slice(0, 2);
    const steady = some.filter(({ index }) => family[index]?.deleted !== "Orphan");
    const stray = random.chance(0.05) ? [{ index: -1, blocks: false }] : [];
    const owners = some.length === 1 ? some : steady.length > 0 ? steady : stray;
    const deleted = random.pick(["Background", "Foreground", "Orphan", "not"] as const);
    family.push({
      kind: random.pick(KINDS),
      name: `relative-${i}`,
      owners,
      held,
      deleted: owners.length === 0 && deleted !== "not" ? deleted : undefined,
    });
  }
  return family;
}

function pathOf({ group, version, plural }: Kind, namespace: string): string {
  return `${group === "" ? "/api" : `/apis/${group}`}/${version}/namespaces/${namespace}/${plural}`;
}

/** Makes all of them, then deletes those that are to be deleted, in their order. */
export async function play(send: Send, namespace: string, family: Family): Promise<void> {
  const made: Json[] = [];
  for (const { kind, name, owners, held } of family) {
    const ownerReferences = owners.map(({ index, blocks }) => {
      const owner = made[index];
      const type = family[index]?.kind ?? configMaps;
      return {
        apiVersion: type.apiVersion,
        kind: type.kind,
        name: String(metaOf(owner ?? {})["name"] ?? "never-was"),
        uid: String(metaOf(owner ?? {})["uid"] ?? "00000000-0000-4000-8000-000000000000"),
        ...(blocks && { blockOwnerDeletion: true }),
      };
    });
    const metadata = { name, ownerReferences, ...(held && { finalizers: [HOLD] }) };
    const { body } = await send({ method: "POST", path: pathOf(kind, namespace), body: { metadata } });
    made.push(json(body));
  }
  for (const { kind, name, deleted } of family) {
    if (deleted === undefined) continue;
    const path = `${pathOf(kind, namespace)}/${name}`;
    await send({ method: "DELETE", path, body: { propagationPolicy: deleted } });
  }
}

/** Who is left, with what keeps them and whom they name as owners. */
export async function survivors(send: Send, namespace: string): Promise<string[]> {
  const found: string[] = [];
  for (const kind of KINDS) {
    const { body } = await send({ method: "GET", path: pathOf(kind, namespace) });
    for (const item of items(json(body)["items"])) {
      const { name, deletionTimestamp, finalizers = [], ownerReferences = [] } = metaOf(item);
      if (!String(name).startsWith("relative-")) continue;
      const owners = (ownerReferences as readonly Json[]).map((owner) => owner["name"]).join("+");
      // Whom it still names when it goes is a matter of who was faster.
      const rest = deletionTimestamp ? ["ending"] : [owners];
      found.push([name, String(finalizers), ...rest].join(" "));
    }
  }
  return found.toSorted();
}
