/**
 * The garbage collector: deletes what has lost all its owners, waits for dependents of what is deleted in the
 * foreground, lets go of those that are to be orphaned. It lags, as the real one does.
 */
import type { OwnerReference } from "../../../src/kube/resources.ts";
import { Hand, Later, type Surround } from "./controllers.ts";
import type { Kind } from "./kind.ts";
import { kindNamed, kinds } from "./kinds/all.ts";
import type { KubeJson } from "./object.ts";
import type { Change } from "./storage.ts";

const ORPHAN = "orphan";
const FOREGROUND = "foregroundDeletion";

export class GarbageCollector {
  readonly #around: Surround;
  readonly #hand: Hand;
  readonly #later: Later;
  /** Who names whom as its owner: keys of dependents by the owner's UID. */
  readonly #dependents = new Map<string, Set<string>>();

  constructor(around: Surround) {
    this.#around = around;
    this.#hand = new Hand(around.server, "kube-controller-manager");
    this.#later = new Later(around, (key) => this.#look(key));
    around.server.storage.onChange((change) => this.#seen(change));
  }

  #seen({ type, kind, key, before, after }: Change): void {
    const id = idOf(kind, key);
    for (const { uid } of before?.object.metadata.ownerReferences ?? [])
      this.#dependents.get(uid)?.delete(id);
    const { metadata } = after.object;
    if (type !== "DELETED") {
      for (const { uid } of metadata.ownerReferences ?? []) {
        const known = this.#dependents.get(uid) ?? new Set();
        this.#dependents.set(uid, known.add(id));
      }
      if (metadata.ownerReferences || waitsForUs(after.object)) this.#later.wake(id);
    } else for (const dependent of this.#dependents.get(metadata.uid) ?? []) this.#later.wake(dependent);
    // What kept its owners from going may have gone, or have let go of them.
    const owners = [...(before?.object.metadata.ownerReferences ?? []), ...(metadata.ownerReferences ?? [])];
    for (const owner of owners) this.#wakeOwner(owner, metadata.namespace);
  }

  #wakeOwner(owner: OwnerReference, namespace: string | undefined): void {
    const kind = kindNamed(owner.apiVersion, owner.kind);
    const found = kind && this.#around.server.get(kind, placeOf(kind, owner.name, namespace));
    if (kind && found && waitsForUs(found))
      this.#later.wake(idOf(kind, placeOf(kind, owner.name, namespace)));
  }

  #look(id: string): void {
    const [kind, key] = fromId(id);
    const object = this.#around.server.get(kind, key);
    if (!object) return;
    if (waitsForUs(object)) this.#finish(kind, key, object);
    else this.#attempt(kind, key, object);
  }

  /** Deletes it when none of its owners is left. */
  #attempt(kind: Kind, key: string, { metadata }: KubeJson): void {
    const owners = metadata.ownerReferences ?? [];
    if (owners.length === 0 || metadata.deletionTimestamp !== undefined) return;
    const states = owners.map((owner) => ({ owner, found: this.#owner(owner, metadata.namespace) }));
    const there = states.filter(({ found }) => found !== undefined);
    const waiting = there.filter(({ found }) => found && isInForeground(found));
    if (there.length > waiting.length) {
      // Another one keeps it: it lets go of those that are gone or going.
      const kept = there.filter((one) => !waiting.includes(one)).map(({ owner }) => owner);
      if (kept.length < owners.length) this.#setOwners(kind, key, metadata.uid, kept);
      return;
    }
    if (waiting.length > 0 && (this.#dependents.get(metadata.uid)?.size ?? 0) > 0)
      this.#hand.delete(kind, key, { uid: metadata.uid, propagation: "Foreground" });
    else this.#hand.delete(kind, key, { uid: metadata.uid, propagation: "Background" });
  }

  /** The owner, if it is the one that is meant; of a kind that is not modelled it is taken to be there. */
  #owner({ apiVersion, kind: type, name, uid }: OwnerReference, namespace: string | undefined) {
    const kind = kindNamed(apiVersion, type);
    if (!kind) return UNKNOWN;
    const found = this.#around.server.get(kind, placeOf(kind, name, namespace));
    return found?.metadata.uid === uid ? found : undefined;
  }

  /** One that is deleted and waits for what becomes of its dependents. */
  #finish(kind: Kind, key: string, { metadata }: KubeJson): void {
    const dependents = [...(this.#dependents.get(metadata.uid) ?? [])];
    if (metadata.finalizers?.includes(ORPHAN)) {
      for (const id of dependents) this.#orphan(id, metadata.uid);
      this.#dropFinalizer(kind, key, ORPHAN);
      return;
    }
    for (const id of dependents) this.#later.wake(id);
    const blocking = dependents.filter((id) => this.#blocks(id, metadata.uid));
    if (blocking.length === 0) this.#dropFinalizer(kind, key, FOREGROUND);
  }

  #blocks(id: string, owner: string): boolean {
    const [kind, key] = fromId(id);
    const references = this.#around.server.get(kind, key)?.metadata.ownerReferences ?? [];
    return references.some(({ uid, blockOwnerDeletion }) => uid === owner && blockOwnerDeletion === true);
  }

  #orphan(id: string, owner: string): void {
    const [kind, key] = fromId(id);
    const object = this.#around.server.get(kind, key);
    const kept = object?.metadata.ownerReferences?.filter(({ uid }) => uid !== owner) ?? [];
    if (object) this.#setOwners(kind, key, object.metadata.uid, kept);
  }

  #setOwners(kind: Kind, key: string, uid: string, ownerReferences: readonly OwnerReference[]): void {
    this.#hand.change(kind, key, (object) =>
      object.metadata.uid === uid
        ? { ...object, metadata: { ...object.metadata, ownerReferences } }
        : undefined,
    );
  }

  #dropFinalizer(kind: Kind, key: string, name: string): void {
    this.#hand.change(kind, key, (object) => {
      const finalizers = (object.metadata.finalizers ?? []).filter((one) => one !== name);
      return { ...object, metadata: { ...object.metadata, finalizers } };
    });
  }
}

const UNKNOWN = { metadata: {} } as KubeJson;

function waitsForUs({ metadata }: KubeJson): boolean {
  if (metadata.deletionTimestamp === undefined) return false;
  return metadata.finalizers?.some((one) => one === ORPHAN || one === FOREGROUND) ?? false;
}

function isInForeground({ metadata }: KubeJson): boolean {
  return metadata.deletionTimestamp !== undefined && (metadata.finalizers?.includes(FOREGROUND) ?? false);
}

function placeOf(kind: Kind, name: string, namespace: string | undefined): string {
  return kind.namespaced && namespace !== undefined ? `${namespace}/${name}` : name;
}

function idOf(kind: Kind, key: string): string {
  return `${kinds.indexOf(kind)} ${key}`;
}

function fromId(id: string): readonly [Kind, string] {
  const space = id.indexOf(" ");
  return [kinds[Number(id.slice(0, space))] as Kind, id.slice(space + 1)];
}
