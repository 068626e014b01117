/**
 * For how long it has been proven that a member's data is gone. Apart from how long it has been unhealthy: one that was
 * down for an hour, and is found empty only now, has all its time to come back from now on.
 */
import { isProvenGone, isTriedAgain } from "../core/assess/automatic-recovery.ts";
import type { View } from "../core/view.ts";

export class GoneSince {
  /** By the UID of the record. */
  readonly #known = new Map<string, number>();

  /** The mark since when, or undefined while it is not proven. */
  of(uid: string): number | undefined {
    return this.#known.get(uid);
  }

  /** All members, as they are at the mark `at`. */
  see(view: Pick<View, "members" | "now">, at: number): void {
    const before = new Map(this.#known);
    this.#known.clear();
    for (const member of view.members) {
      const { uid } = member.record;
      const since = before.get(uid);
      if (isProvenGone(member)) this.#known.set(uid, since ?? at);
      else if (since !== undefined && isTriedAgain(view, member)) this.#known.set(uid, since);
    }
  }
}
