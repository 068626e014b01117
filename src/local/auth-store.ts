/**
 * The EtcdUsers or EtcdRoles of a local cluster: a file each in its directory. People apply and delete them; the
 * controller writes their status.
 */
import type { AuthObjectStatus } from "../api/auth-object.ts";
import type { EtcdRole, EtcdRoleSpec } from "../api/etcd-role.ts";
import type { EtcdUser, EtcdUserSpec } from "../api/etcd-user.ts";
import type { Problem } from "../control/problem.ts";
import type { ObjectKind } from "../core/auth/facts.ts";
import { canonical } from "../core/template/hash.ts";
import type { Layout } from "./layout.ts";
import { problemOfFile, ResourceFiles, resourceOf, type StoredResource } from "./resource-files.ts";
import type { StoreSeams } from "./store.ts";

interface Stored extends StoredResource {
  readonly generation: number;
  /** It may be in etcd: a file that is deleted stays until it is not. */
  readonly applied: boolean;
  readonly spec: EtcdUserSpec | EtcdRoleSpec;
  readonly status: AuthObjectStatus;
}

export type AuthObject = EtcdUser | EtcdRole;

export interface FoundAuthObjects {
  readonly objects: readonly { readonly object: AuthObject; readonly applied: boolean }[];
  /** Files that cannot be understood, in words: they stop nothing but themselves. */
  readonly damaged: readonly Problem[];
}

export class AuthStore {
  readonly #kind: ObjectKind;
  readonly #files: ResourceFiles<Stored>;

  constructor(kind: ObjectKind, layout: Layout, seams: StoreSeams) {
    this.#kind = kind;
    const place =
      kind === "EtcdUser"
        ? { directory: layout.users, file: (name: string) => layout.user(name) }
        : { directory: layout.roles, file: (name: string) => layout.role(name) };
    this.#files = new ResourceFiles(place, seams);
  }

  /** By time of creation. */
  async list(): Promise<FoundAuthObjects> {
    const { stored, damaged } = await this.#files.list();
    return {
      objects: stored.map((one) => ({ object: this.#toObject(one), applied: one.applied })),
      damaged: damaged.map(problemOfFile),
    };
  }

  async get(name: string): Promise<AuthObject | undefined> {
    const stored = await this.#files.get(name);
    return stored && this.#toObject(stored);
  }

  /** Creates it, or gives it another spec. */
  async apply(name: string, spec: Stored["spec"]): Promise<"created" | "configured" | "unchanged"> {
    return await this.#files.inTurn(async () => {
      const before = await this.#files.get(name);
      if (before === undefined) {
        const status = { observedGeneration: -1 };
        await this.#files.create(name, { generation: 1, applied: false, spec, status });
        return "created";
      }
      if (canonical(before.spec) === canonical(spec)) return "unchanged";
      await this.#files.update(before, { spec, generation: before.generation + 1 });
      return "configured";
    });
  }

  /** What was never applied is gone at once; the rest when it is gone from etcd. False if there is none. */
  async delete(name: string): Promise<boolean> {
    return await this.#files.inTurn(async () => {
      const before = await this.#files.get(name);
      if (before === undefined) return false;
      if (before.applied) await this.#files.markDeleted(before);
      else await this.#files.remove(name);
      return true;
    });
  }

  async update(
    name: string,
    resourceVersion: string,
    change: { readonly applied: boolean } | { readonly status: AuthObjectStatus },
  ): Promise<void> {
    await this.#files.inTurn(async () => {
      const before = await this.#files.atVersion({ name, resourceVersion });
      const isOver = before.deletedAt !== undefined && "applied" in change && !change.applied;
      if (isOver) await this.#files.remove(name);
      else await this.#files.update(before, change);
    });
  }

  #toObject(stored: Stored): AuthObject {
    return resourceOf<AuthObject>(this.#kind, stored);
  }
}
