/**
 * Reasons to change nothing at all, or nothing but what is broken: a spec or a mark that cannot be understood, an object
 * of our name that is somebody else's. Status stays truthful, since it is written on every pass.
 */
import type { Outcome, StepClass } from "../action.ts";
import type { Rule } from "../rule.ts";
import type { Clash } from "../observation.ts";
import { hold } from "../outcome.ts";
import type { View } from "../view.ts";

export const standStill: Rule = (view) => {
  const { platform, cluster } = view.observation;
  if (platform.fenced) {
    return [
      hold({
        classes: "all",
        reason: "Fenced",
        message: "another controller may be acting on this cluster, so this one changes nothing",
      }),
    ];
  }
  if (view.spec.paused) {
    return [
      hold({
        classes: "all",
        reason: "Paused",
        message: "spec.paused is true: nothing is changed, and broken members stay broken",
        next: "Set spec.paused to false.",
      }),
    ];
  }
  const outcomes = clashes(view);
  if (cluster.invalid !== undefined) {
    outcomes.push(
      hold({
        classes: ["shrink", "roll"],
        reason: "InvalidSpec",
        message: `the cluster cannot be understood, and nothing of it is applied: ${cluster.invalid}`,
        next: "Correct it; until then the members are kept and healed as they are.",
      }),
    );
  }
  for (const { path, message, holds } of cluster.unreadable ?? []) {
    outcomes.push(
      hold({
        classes: holds,
        unfinished: true,
        reason: "MarkUnreadable",
        message: `${path} ${message}`,
        next: "Put back what it was, or remove the annotation.",
      }),
    );
  }
  return outcomes;
};

/** Only what a clash concerns waits: a budget of somebody else's must not keep a Pod from being made again. */
const WAITS: Readonly<Record<Clash["concerns"], readonly StepClass[] | "all">> = {
  cluster: "all",
  members: ["join", "roll"],
  users: [],
  // Its own rules keep it: it has no workload, and that is ours to make.
  member: [],
};

function clashes({ observation, established }: View): Outcome[] {
  const { platform, cluster } = observation;
  return (Object.keys(WAITS) as Clash["concerns"][]).flatMap((concerns) => {
    const objects = platform.clashes.filter((clash) => clash.concerns === concerns);
    if (objects.length === 0) return [];
    return [
      hold({
        // Founders that cannot find each other need not start.
        classes: concerns === "members" && !established ? "all" : WAITS[concerns],
        unfinished: true,
        reason: "NameClash",
        message: `${objects.map(({ object }) => object).join(", ")} exists and does not belong to ${cluster.name}; it is not touched`,
        next: "Rename or delete the other object, or give this cluster another name.",
      }),
    ];
  });
}
