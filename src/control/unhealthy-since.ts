/**
 * For how long each member has not been healthy: down, or only out of our reach (H16). The two are counted apart, so
 * that no time in which others vouched for a member makes it lost; a member that flaps between them is not spared for
 * ever by it. Another template is another chance, and so is a workload that we could not or were not to make for a
 * while.
 */
import type { MemberTemplate } from "../core/record.ts";
import { sameTemplate } from "../core/template/template.ts";
import type { MemberView, View } from "../core/view.ts";

/** What lasts for less does not end the count of what was before it. */
const SETTLED_MS = 10_000;

interface Unhealthy {
  readonly template: MemberTemplate;
  readonly outOfReach: boolean;
  /** As it has been since this mark, counted on from before if it was otherwise only for a moment. */
  readonly since: number;
  /** When it became so the last time. */
  readonly changed: number;
  /** For how long it had been otherwise by then. */
  readonly otherwiseMs: number;
  /** It has no workload, since we could not make one. */
  readonly unmade: boolean;
}

export class UnhealthySince {
  readonly #known = new Map<string, Unhealthy>();

  /** The mark since when, or undefined while it is healthy. */
  of(name: string): number | undefined {
    return this.#known.get(name)?.since;
  }

  /** All members, as they are at the mark `at`. */
  see({ members, spec }: Pick<View, "members" | "spec">, at: number): void {
    const present = new Set(members.map(({ name }) => name));
    for (const name of this.#known.keys()) if (!present.has(name)) this.#known.delete(name);
    for (const member of members) {
      // A member that sleeps on purpose is not ill: else it would be replaced the moment it wakes.
      if (member.healthy || !member.record.run) this.#known.delete(member.name);
      // Nobody makes it a Pod while the cluster is paused: the time until then says nothing about the member.
      // Nor does the time in which it served, although its Pod was being deleted.
      else if (member.stillServes || (spec.paused && lacksWorkload(member)))
        this.#known.set(member.name, begin(member, at));
      else this.#known.set(member.name, next(this.#known.get(member.name), member, at));
    }
  }
}

function next(known: Unhealthy | undefined, member: MemberView, at: number): Unhealthy {
  const { outOfReach, workload, record } = member;
  const { template } = record;
  const isAbsent = workload.state === "absent";
  const hasAnotherChance = !known || !sameTemplate(known.template, template) || (known.unmade && !isAbsent);
  if (hasAnotherChance) return begin(member, at);
  const unmade = isAbsent && (known.unmade || isUnmade(member));
  if (known.outOfReach === outOfReach) return { ...known, unmade };
  const countedMs = at - known.changed < SETTLED_MS ? known.otherwiseMs : 0;
  return {
    template,
    outOfReach,
    since: at - countedMs,
    changed: at,
    otherwiseMs: at - known.since,
    unmade,
  };
}

function begin(member: MemberView, at: number): Unhealthy {
  const { outOfReach, record } = member;
  const unmade = isUnmade(member);
  return { template: record.template, outOfReach, since: at, changed: at, otherwiseMs: 0, unmade };
}

/** It was taken away, or ended for good: it runs again when another one is made. */
function lacksWorkload({ workload }: MemberView): boolean {
  return workload.state === "absent" || (workload.state === "exited" && workload.ended === true);
}

/** No fault of the member, unlike a Pod that was there and is gone: evicted, rejected, deleted. */
function isUnmade({ workload, volume }: MemberView): boolean {
  return workload.state === "absent" && (workload.notMade !== undefined || volume.state === "pending");
}
