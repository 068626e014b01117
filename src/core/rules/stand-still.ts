/**
 * Reasons to change nothing at all, or, with a spec that cannot be understood, nothing but what is broken. Status stays
 * truthful, since it is written on every pass.
 */
import { hold } from "../outcome.ts";
import type { Rule } from "../decide.ts";

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
  if (platform.clashes.length > 0) {
    return [
      hold({
        classes: "all",
        reason: "NameClash",
        message: `${platform.clashes.join(", ")} exists and does not belong to ${cluster.name}; it is not touched`,
        next: "Rename or delete the other object, or give this cluster another name.",
      }),
    ];
  }
  if (cluster.invalid !== undefined) {
    return [
      hold({
        classes: ["shrink", "roll"],
        reason: "InvalidSpec",
        message: `the cluster cannot be understood, and nothing of it is applied: ${cluster.invalid}`,
        next: "Correct it; until then the members are kept and healed as they are.",
      }),
    ];
  }
  return [];
};
