/** What a person approves, by which word. Each names what it is for, since it stays on the cluster. */
import type { Approvable } from "../messages/approvals.ts";
import type { MemberFacts, Observation } from "../observation.ts";

/** The approval of this word, with where it is given. */
export function approvable({ cluster, platform }: Observation, word: string): Approvable {
  const { name, namespace } = cluster;
  const by =
    platform.machine === undefined
      ? ({ platform: "kubernetes", namespace } as const)
      : ({ platform: "machine", ...platform.machine } as const);
  return { word, cluster: name, by };
}

/**
 * The word by which a person accepts what the members serve although more was seen before; undefined where nobody lost
 * anything. It names that revision: an approval left on the cluster says nothing about the next loss.
 */
export function acceptingWord(members: readonly Pick<MemberFacts, "forgot">[]): string | undefined {
  const seen = members.flatMap(({ forgot }) => (forgot ? [forgot.seenRevision] : []));
  return seen.length > 0 ? acceptingRevision(Math.max(...seen)) : undefined;
}

/** The word by which a person accepts that revisions up to this one are lost. */
export function acceptingRevision(seen: number): string {
  return `accept-data-${seen}`;
}
