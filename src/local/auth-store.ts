/**
 * The EtcdUsers and EtcdRoles of a local cluster: a file each in its directory. People apply and delete them; the
 * controller writes their status under the version that it read, as with an API server (H10).
 */
import type { AuthObjectStatus } from "../api/auth-object.ts";
import type { EtcdRole, EtcdRoleSpec } from "../api/etcd-role.ts";
import type { EtcdUser, EtcdUserSpec } from "../api/etcd-user.ts";
import { API_VERSION } from "../api/metadata.ts";
import { Conflict } from "../control/platform.ts";
import type { ObjectKind } from "../core/auth/diff.ts";
import { canonical } from "../core/hash.ts";
import type { Clock } from "../seams/clock.ts";
import { hex, type Random } from "../seams/random.ts";
import type { Layout } from "./layout.ts";
import type { StoreSeams } from "./store.ts";
import { DamagedFile, FORMAT, StoredFiles } from "./stored-files.ts";

interface Stored {
  readonly format: typeof FORMAT;
  readonly uid: string;
  readonly name: string;
  readonly createdAt: number;
  readonly generation: number;
  readonly resourceVersion: number;
  /** It may be in etcd: a file that is deleted stays until it is not. */
  readonly applied: boolean;
  readonly deletedAt?: number;
  readonly spec: EtcdUserSpec | EtcdRoleSpec;
  readonly status: AuthObjectStatus;
}

export type AuthObject = EtcdUser | EtcdRole;

export interface FoundAuthObjects {
  readonly objects: readonly { readonly object: AuthObject; readonly applied: boolean }[];
  /** Files that cannot be understood, in words: they stop nothing but themselves. */
  readonly damaged: readonly string[];
}

export class AuthStore {
  readonly #kind: ObjectKind;
  readonly #layout: Layout;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #files: StoredFiles;

  constructor(kind: ObjectKind, layout: Layout, { disk, clock, random }: StoreSeams) {
    this.#kind = kind;
    this.#layout = layout;
    this.#clock = clock;
    this.#random = random;
    this.#files = new StoredFiles(disk);
  }

  async list(): Promise<FoundAuthObjects> {
    const damaged: string[] = [];
    const found: Stored[] = [];
    const { users, roles } = this.#layout;
    for (const file of await this.#files.list(this.#kind === "EtcdUser" ? users : roles)) {
      try {
        const stored = await this.#files.read<Stored>(file);
        if (stored) found.push(stored);
      } catch (error) {
        if (!(error instanceof DamagedFile)) throw error;
        damaged.push(error.message);
      }
    }
    const objects = found.map((stored) => ({ object: this.#toObject(stored), applied: stored.applied }));
    return { objects, damaged };
  }

  async get(name: string): Promise<AuthObject | undefined> {
    const stored = await this.#files.read<Stored>(this.#file(name));
    return stored && this.#toObject(stored);
  }

  /** Creates it, or gives it another spec. */
  async apply(name: string, spec: Stored["spec"]): Promise<"created" | "configured" | "unchanged"> {
    return await this.#files.inTurn(async () => {
      const file = this.#file(name);
      const before = await this.#files.read<Stored>(file);
      if (before && canonical(before.spec) === canonical(spec)) return "unchanged";
      const stored: Stored = before
        ? {
            ...before,
            spec,
            generation: before.generation + 1,
            resourceVersion: before.resourceVersion + 1,
          }
        : {
            format: FORMAT,
            uid: hex(this.#random, 8),
            name,
            createdAt: this.#clock.now(),
            generation: 1,
            resourceVersion: 1,
            applied: false,
            spec,
            status: { observedGeneration: -1 },
          };
      await this.#files.write(file, stored);
      return before ? "configured" : "created";
    });
  }

  /** What was never applied is gone at once; the rest when it is gone from etcd. False if there is none. */
  async delete(name: string): Promise<boolean> {
    return await this.#files.inTurn(async () => {
      const file = this.#file(name);
      const before = await this.#files.read<Stored>(file);
      if (before === undefined) return false;
      const resourceVersion = before.resourceVersion + 1;
      if (before.applied)
        await this.#files.write(file, { ...before, deletedAt: this.#clock.now(), resourceVersion });
      else await this.#files.remove(file);
      return true;
    });
  }

  async update(
    name: string,
    resourceVersion: string,
    change: { readonly applied: boolean } | { readonly status: AuthObjectStatus },
  ): Promise<void> {
    await this.#files.inTurn(async () => {
      const file = this.#file(name);
      const before = await this.#files.read<Stored>(file);
      if (before === undefined) throw new Conflict(`${file} no longer exists`);
      if (String(before.resourceVersion) !== resourceVersion)
        throw new Conflict(`${file} is at version ${before.resourceVersion}, not ${resourceVersion}`);
      const isOver = before.deletedAt !== undefined && "applied" in change && !change.applied;
      if (isOver) await this.#files.remove(file);
      else
        await this.#files.write(file, { ...before, ...change, resourceVersion: before.resourceVersion + 1 });
    });
  }

  #file(name: string): string {
    return this.#kind === "EtcdUser" ? this.#layout.user(name) : this.#layout.role(name);
  }

  #toObject(stored: Stored): AuthObject {
    const { name, uid, generation, resourceVersion, createdAt, deletedAt, spec, status } = stored;
    const iso = (ms: number) => new Date(ms).toISOString();
    return {
      apiVersion: API_VERSION,
      kind: this.#kind,
      metadata: {
        name,
        namespace: "local",
        uid,
        generation,
        resourceVersion: String(resourceVersion),
        creationTimestamp: iso(createdAt),
        ...(deletedAt !== undefined && { deletionTimestamp: iso(deletedAt) }),
      },
      spec,
      status,
    } as AuthObject;
  }
}
