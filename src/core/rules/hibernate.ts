/**
 * `replicas: 0` is hibernation, never a scale-in: every member stops and every copy is kept. Waking starts
 * all recorded members at their recorded version and options, whatever the spec says by now (H5); rolls
 * and scaling come after there is quorum again. A CA that has expired is replaced while nothing runs.
 */
import { replacements } from "../assess/expired-authority.ts";
import { act, hold, update } from "../steps/outcome.ts";
import { HOLDS } from "../steps/hold-classes.ts";
import type { Rule } from "../rule.ts";
import { namesOf } from "../view.ts";

export const hibernate: Rule = (view) => (view.spec.replicas === 0 ? sleep(view) : wake(view));

const sleep: Rule = (view) => {
  const awake = view.members.find((member) => member.record.run);
  if (awake) {
    return [act("life", "Hibernating", {}, update(awake, "hibernate", { run: false }))];
  }
  // The leader stops last, so that the others do not hold elections on the way down.
  const running = view.members.filter(
    ({ workload }) => workload.state !== "absent" && workload.state !== "stopping",
  );
  const next = running.find((member) => !member.isLeader) ?? running[0];
  if (next) return [act("life", "StoppedToHibernate", {}, { kind: "StopWorkload", member: next.name })];
  const stopping = view.members.filter(({ workload }) => workload.state === "stopping");
  if (stopping.length > 0) {
    return [hold(HOLDS.everything, "WaitingForStop", { members: namesOf(stopping) })];
  }
  const [expired] = replacements(view);
  if (expired) {
    const { plane, expiredAt, action } = expired;
    return [act("life", "AuthorityReplacedAsleep", { plane, expiredAt }, action)];
  }
  return [hold(HOLDS.everything, "ClusterHibernated", { count: view.members.length })];
};

const wake: Rule = (view) => {
  // Those of a former life stay asleep: a cluster that was recovered has no use for them.
  const asleep = view.members.find(({ record }) => !record.run && record.token === view.token);
  return asleep ? [act("life", "Woken", {}, update(asleep, "wake", { run: true }))] : [];
};
