/**
 * Reasons to change nothing at all, or nothing but what is broken: a spec or a mark that cannot be understood, an object
 * of our name that is somebody else's. Status stays truthful, since it is written on every pass.
 */
import type { Outcome, StepClass } from "../action.ts";
import { HOLDS } from "../steps/hold-classes.ts";
import type { Rule } from "../rule.ts";
import type { Clash } from "../observation.ts";
import { hold } from "../steps/outcome.ts";
import type { View } from "../view.ts";

export const holdAll: Rule = (view) => {
  const { platform, cluster } = view.observation;
  if (platform.fenced) {
    return [hold(HOLDS.everything, "ClusterFenced", {})];
  }
  if (view.spec.paused) {
    return [hold(HOLDS.everything, "ClusterPaused", {})];
  }
  const outcomes = clashes(view);
  if (cluster.invalid !== undefined) {
    outcomes.push(hold(HOLDS.edits, "SpecInvalid", { why: cluster.invalid }));
  }
  for (const { path, message, holds } of cluster.unreadable ?? []) {
    outcomes.push(hold(holds, "MarkUnreadable", { path, why: message }, { unfinished: true }));
  }
  return outcomes;
};

/** Only what a clash concerns waits: a budget of somebody else's must not keep a Pod from being made again. */
const WAITS: Readonly<Record<Clash["concerns"], readonly StepClass[] | "all">> = {
  cluster: HOLDS.everything,
  members: HOLDS.joinsAndRollouts,
  users: HOLDS.nothing,
  // Its own rules keep it: it has no workload, and that is ours to make.
  member: HOLDS.nothing,
};

function clashes({ observation, established }: View): Outcome[] {
  const { platform, cluster } = observation;
  const dispensable = platform.clashes.flatMap(({ object, concerns, offBy }) =>
    offBy === undefined
      ? []
      : [hold(WAITS[concerns], "OptionalObjectOfOthers", { object, field: offBy }, { unfinished: true })],
  );
  const needed = (Object.keys(WAITS) as Clash["concerns"][]).flatMap((concerns) => {
    const objects = platform.clashes.filter((clash) => clash.concerns === concerns && !clash.offBy);
    if (objects.length === 0) return [];
    // Founders that cannot find each other need not start.
    const classes = concerns === "members" && !established ? HOLDS.everything : WAITS[concerns];
    const about = { objects: objects.map(({ object }) => object), cluster: cluster.name };
    return [hold(classes, "ObjectsOfOthers", about, { unfinished: true })];
  });
  return [...needed, ...dispensable];
}
