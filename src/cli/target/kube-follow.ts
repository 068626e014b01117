/**
 * What `--watch` shows of an API server: each list is read once and then followed by a watch, which resumes where it was
 * and lists again only when the server has forgotten (410). Looking again costs the server nothing.
 */
import type { KubeClient } from "../../kube/client.ts";
import { errorFromFailure, isReason, type KubeError, type KubeReason } from "../../kube/errors.ts";
import { Reflector } from "../../kube/reflector.ts";
import { keyOf, type KubeObject, type Resource } from "../../kube/resources.ts";
import type { Scope } from "../../kube/scope.ts";
import { DeadlineExceeded, sleep, type Clock } from "../../seams/clock.ts";
import type { Random } from "../../seams/random.ts";
import type { Following } from "./target.ts";

/** Changes come in groups: a step of the operator writes to several objects. */
const GATHER_MS = 50;
const LOOK_MS = 50;
/** Troubles that end by themselves, such as a server that does not stream lists. */
const PASSING: ReadonlySet<KubeReason> = new Set(["Invalid", "BadRequest", "Expired", "TooNew"]);

export interface FollowOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  /** For the first state of a list. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** What a failure means to a person. */
  readonly explain: (error: KubeError, kind: Resource, scope: Scope) => Error;
}

interface Followed {
  readonly kind: Resource;
  readonly scope: Scope;
  readonly reflector: Reflector<KubeObject>;
}

export class KubeFollowing implements Following {
  readonly #options: FollowOptions;
  readonly #followed = new Map<string, Followed>();
  #changed = false;
  #wake = () => {};
  #troubledAt: number | undefined;

  constructor(options: FollowOptions) {
    this.#options = options;
  }

  /** As the API server lists them: by namespace and name. Throws a KubeError while there is no first state. */
  async list<T extends KubeObject>(kind: Resource<T>, scope: Scope): Promise<readonly T[]> {
    const { reflector } = this.#follow(kind as Resource, scope);
    await this.#synced(reflector, kind as Resource);
    const sorted = reflector.store.list().toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
    return sorted as unknown as T[];
  }

  async changed(withinMs: number): Promise<void> {
    const { clock, signal } = this.#options;
    if (!this.#changed) {
      const woken = new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      await Promise.race([woken, sleep(clock, withinMs, signal)]);
    }
    await sleep(clock, GATHER_MS, signal);
    this.#changed = false;
  }

  get trouble(): string | undefined {
    const troubled = [...this.#followed.values()].find(
      ({ reflector }) => reflector.store.synced && reflector.trouble !== undefined,
    );
    const error = troubled?.reflector.trouble;
    if (troubled === undefined || error === undefined || isReason(error, "Expired")) {
      this.#troubledAt = undefined;
      return undefined;
    }
    this.#troubledAt ??= this.#options.clock.now();
    const since = new Date(this.#troubledAt).toISOString().slice(11, 19);
    const { message } = this.#options.explain(error, troubled.kind, troubled.scope);
    return `This is the state of ${since}; still trying to follow changes: ${message}`;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#followed.values()].map(({ reflector }) => reflector.stop()));
  }

  #follow(kind: Resource, scope: Scope): Followed {
    const { client, clock, random } = this.#options;
    const key = `${kind.group}/${kind.plural} ${JSON.stringify(scope)}`;
    const known = this.#followed.get(key);
    if (known) return known;
    const reflector = new Reflector<KubeObject>({ client, clock, random, resource: kind, scope });
    reflector.store.onChange(() => {
      this.#changed = true;
      this.#wake();
    });
    reflector.start();
    const followed = { kind, scope, reflector };
    this.#followed.set(key, followed);
    return followed;
  }

  async #synced(reflector: Reflector<KubeObject>, kind: Resource): Promise<void> {
    const { clock, signal, timeoutMs } = this.#options;
    const end = clock.monotonic() + timeoutMs;
    while (!reflector.store.synced) {
      const { trouble } = reflector;
      if (trouble !== undefined && !PASSING.has(trouble.reason)) throw trouble;
      if (clock.monotonic() >= end)
        throw trouble ?? errorFromFailure(`watch ${kind.plural}`, new DeadlineExceeded(timeoutMs));
      await Promise.race([reflector.store.whenSynced(signal), sleep(clock, LOOK_MS, signal)]);
    }
  }
}
