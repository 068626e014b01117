/**
 * How often a member's workload ended for good (an evicted Pod, one that its node rejected) since it last stayed
 * healthy. Making the next one at once, again and again, would load the API server and the node for nothing. Another
 * template is another chance. Forgotten at a restart of this process, which costs one more attempt.
 */
import type { MemberTemplate } from "../core/record.ts";
import { sameTemplate } from "../core/template/template.ts";
import type { MemberView } from "../core/view.ts";

/** Healthy for this long, it has recovered: kubelets reset their own back-off after the same time. */
export const RECOVERED_MS = 600_000;

interface Known {
  readonly template: MemberTemplate;
  readonly times: number;
  readonly hasEnded: boolean;
  /** The mark since when it has been healthy without a break. */
  readonly healthySince: number | undefined;
}

export class Endings {
  readonly #known = new Map<string, Known>();

  /** By the name of the member; 0 where it has not ended. */
  of(name: string): number {
    return this.#known.get(name)?.times ?? 0;
  }

  /** All members, as they are at the mark `at`. */
  see(members: readonly MemberView[], at: number): void {
    const present = new Set(members.map(({ name }) => name));
    for (const name of this.#known.keys()) if (!present.has(name)) this.#known.delete(name);
    for (const member of members) {
      const next = following(this.#known.get(member.name), member, at);
      if (next === undefined) this.#known.delete(member.name);
      else this.#known.set(member.name, next);
    }
  }
}

function following(known: Known | undefined, member: MemberView, at: number): Known | undefined {
  const { workload, healthy, record } = member;
  const { template } = record;
  const hasEnded = workload.state === "exited" && workload.ended === true;
  const before = known && sameTemplate(known.template, template) ? known : undefined;
  if (!before && !hasEnded) return undefined;
  const healthySince = healthy ? (before?.healthySince ?? at) : undefined;
  if (healthySince !== undefined && at - healthySince >= RECOVERED_MS) return undefined;
  const times = (before?.times ?? 0) + (hasEnded && !before?.hasEnded ? 1 : 0);
  return { template, times, hasEnded, healthySince };
}
