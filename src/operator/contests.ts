/**
 * Two owners of one field: what we write, a controller or a mutating webhook writes back. Neither gives in, so ours is
 * written ever more seldom, and the status names the field and, where the API server knows it, the other manager.
 */
import { createHash } from "node:crypto";
import { canonical } from "../core/hash.ts";
import type { KubeClient } from "../kube/client.ts";
import { KubeError } from "../kube/errors.ts";
import { differencesOf, managersOf, pathText, type ManagedFields } from "../kube/field-owners.ts";
import { pathOf, type KubeObject, type Resource } from "../kube/resources.ts";
import { selectors } from "../kube/scope.ts";
import type { Clock } from "../seams/clock.ts";

/** Thrown instead of writing: it is not our turn yet. */
export class Contested extends Error {
  override name = "Contested";
}

interface Contest {
  readonly uid: string | undefined;
  readonly wanted: string;
  writes: number;
  wroteAt: number;
  /** By the monotonic clock. */
  until: number;
  message: string | undefined;
}

const FIRST_MS = 1_000;
const LONGEST_MS = 5 * 60_000;
/** Undisturbed for this long and longer than the last wait, it was no contest but somebody's slip. */
const FORGET_MS = 60_000;

export class Contests {
  readonly #client: KubeClient;
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #contests = new Map<string, Contest>();

  constructor(client: KubeClient, clock: Pick<Clock, "monotonic">) {
    this.#client = client;
    this.#clock = clock;
  }

  /**
   * Called before an object that exists is brought back to what is wanted; throws `Contested` when that must wait.
   * `about` is what stays the same while the same is contested.
   */
  async enter(resource: Resource, known: KubeObject, wanted: object, about = wanted): Promise<void> {
    const { name = "", uid } = known.metadata ?? {};
    const key = `${resource.plural} ${name}`;
    const hash = createHash("sha256").update(canonical(about)).digest("hex");
    const now = this.#clock.monotonic();
    const contest = this.#contests.get(key);
    if (!contest || contest.uid !== uid || contest.wanted !== hash || isOver(contest, now)) {
      this.#contests.set(key, { uid, wanted: hash, writes: 1, wroteAt: now, until: now, message: undefined });
      return;
    }
    if (now < contest.until) {
      contest.message ??= await this.#describe(resource, known, wanted);
      throw new Contested(contest.message);
    }
    contest.writes++;
    contest.wroteAt = now;
    contest.until = now + waitMs(contest);
  }

  async #describe(resource: Resource, known: KubeObject, wanted: object): Promise<string> {
    const { name = "", namespace = "" } = known.metadata ?? {};
    const [path = []] = differencesOf(known, wanted);
    const others = managersOf(await this.#managedFields(resource, { name, namespace }), path).filter(
      (manager) => manager !== this.#client.fieldManager,
    );
    const who =
      others.length > 0
        ? `another manager (${others.join(", ")}) keeps changing`
        : "another controller or a mutating admission webhook keeps changing";
    return `${resource.kind} ${namespace}/${name}: ${who} ${pathText(path)}, which this operator sets too; it is written less and less often until one of the two stops`;
  }

  /** Caches keep none of them; who may list need not be allowed to get. */
  async #managedFields(
    resource: Resource,
    { name, namespace }: { name: string; namespace: string },
  ): Promise<readonly ManagedFields[]> {
    try {
      const { body } = await this.#client.call(resource, "list", {
        method: "GET",
        path: pathOf(resource, { namespace }),
        query: selectors({ name }),
      });
      const { items = [] } = body as { items?: { metadata?: { managedFields?: ManagedFields[] } }[] };
      return items[0]?.metadata?.managedFields ?? [];
    } catch (error) {
      if (error instanceof KubeError) return [];
      throw error;
    }
  }
}

function waitMs({ writes }: Contest): number {
  return Math.min(LONGEST_MS, FIRST_MS * 2 ** (writes - 2));
}

function isOver(contest: Contest, now: number): boolean {
  return now - contest.wroteAt > Math.max(FORGET_MS, 2 * waitMs(contest));
}
