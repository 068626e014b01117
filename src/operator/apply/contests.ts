/**
 * Two owners of one field: what we write, a controller or a mutating webhook writes back. Neither gives in, so ours is
 * written ever more seldom, and the status names the field and, where the API server knows it, the other manager. One
 * that writes back now and then (a GitOps resync every few minutes) is answered at once, and named as well.
 */
import { createHash } from "node:crypto";
import type { Problem } from "../../control/problem.ts";
import { canonical } from "../../core/template/hash.ts";
import type { KubeClient } from "../../kube/client.ts";
import { KubeError } from "../../kube/errors.ts";
import { differencesOf, managersOf, pathText, type ManagedFields } from "../../kube/field-owners.ts";
import { pathOf, type KubeObject, type Resource } from "../../kube/resources.ts";
import { selectors } from "../../kube/scope.ts";
import { doubledMs, type Backoff } from "../../seams/backoff.ts";
import type { Clock } from "../../seams/clock.ts";

/** Thrown instead of writing: it is not our turn yet. */
export class Contested extends Error {
  override name = "Contested";
}

interface Contest {
  readonly uid: string | undefined;
  readonly wanted: string;
  /** Without a pause in which it was left alone: what the wait goes by. */
  writes: number;
  wroteAt: number;
  /** In all, with less than an hour between two. */
  times: number;
  /** Until then it is told although nothing waits for it now. */
  reportedUntil: number;
  /** By the monotonic clock. */
  until: number;
  message: string | undefined;
}

const BACKOFF: Backoff = { firstMs: 1_000, longestMs: 5 * 60_000 };
/** Undisturbed for this long and longer than the last wait, it is written at once again. */
const PAUSE_MS = 60_000;
/** Undone again only after this long, it was somebody's slip each time. */
const FORGET_MS = 60 * 60_000;
/** Once or twice is a slip, too. */
const REPORTED_FROM = 3;

export class Contests {
  readonly #client: KubeClient;
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #contests = new Map<string, Contest>();

  constructor(client: KubeClient, clock: Pick<Clock, "monotonic">) {
    this.#client = client;
    this.#clock = clock;
  }

  /**
   * Brings an object that exists back to what is wanted; throws `Contested` instead when that must wait. `about` is
   * what stays the same while the same is contested. A write that fails undid nothing, and does not count.
   */
  async write<T>(
    resource: Resource,
    known: KubeObject,
    wanted: object,
    write: () => Promise<T>,
    about = wanted,
  ): Promise<T> {
    const { name = "", uid } = known.metadata ?? {};
    // One object may have several contested parts; each is told by the fields that we set.
    const key = `${resource.plural} ${name} ${Object.keys(about).join()}`;
    const hash = createHash("sha256").update(canonical(about)).digest("hex");
    const now = this.#clock.monotonic();
    const contest = this.#contests.get(key);
    if (!contest || contest.uid !== uid || contest.wanted !== hash || isForgotten(contest, now)) {
      const written = await write();
      const begun = { writes: 1, wroteAt: now, times: 1, until: now, reportedUntil: 0, message: undefined };
      this.#contests.set(key, { uid, wanted: hash, ...begun });
      return written;
    }
    if (now < contest.until) {
      contest.message ??= await this.#describe(resource, known, wanted);
      // From here on by what is thrown.
      contest.reportedUntil = 0;
      throw new Contested(contest.message);
    }
    const written = await write();
    const restedMs = now - contest.wroteAt;
    const rested = restedMs > Math.max(PAUSE_MS, 2 * waitMs(contest));
    contest.times++;
    contest.writes = rested ? 1 : contest.writes + 1;
    contest.wroteAt = now;
    contest.until = rested ? now : now + waitMs(contest);
    if (!rested || contest.times < REPORTED_FROM) return written;
    // Nothing is thrown that would tell it; if it is undone again at this pace, it is told all along.
    contest.reportedUntil = now + 2 * restedMs;
    contest.message ??= await this.#describe(resource, known, wanted);
    return written;
  }

  /** What is undone again and again, with rests between that are too long for anything to wait. */
  problems(): Problem[] {
    const now = this.#clock.monotonic();
    for (const [key, contest] of this.#contests) if (isForgotten(contest, now)) this.#contests.delete(key);
    return [...this.#contests].flatMap(([key, { message, reportedUntil }]) =>
      message !== undefined && now < reportedUntil ? [{ key: `contested ${key}`, message }] : [],
    );
  }

  /** How many objects are remembered. */
  get size(): number {
    return this.#contests.size;
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
    return `${resource.kind} ${namespace}/${name}: ${who} ${pathText(path)}, which the operator also sets. The operator backs off; remove the field from one of the two`;
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
  return doubledMs(writes - 1, BACKOFF);
}

function isForgotten({ wroteAt }: Contest, now: number): boolean {
  return now - wroteAt > FORGET_MS;
}
