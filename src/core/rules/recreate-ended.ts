/**
 * A workload that has ended for good, as an evicted Pod has, only stands in the way of its successor: it is taken away,
 * and the platform makes it anew. One that ends again and again is made anew ever more seldom. With its data lost it
 * stays as it is until it is replaced (H4).
 */
import { meaningOf } from "../assess/exit-causes.ts";
import { HOLDS } from "../steps/hold-classes.ts";
import { act, hold } from "../steps/outcome.ts";
import type { Rule } from "../rule.ts";
import type { MemberView } from "../view.ts";

/** After the first end, the second, and so on; the last one for all that follow. */
const WAITS_MS = [0, 10_000, 20_000, 40_000, 80_000, 160_000, 300_000] as const;

type Ended = MemberView & { readonly workload: Extract<MemberView["workload"], { state: "exited" }> };

export const recreateEnded: Rule = (view) => {
  const ended = view.staying.filter(hasEnded);
  const due = ended.find((member) => view.now >= recreatedAt(member));
  // Another template is another chance: that one need not wait.
  const waiting = ended.filter((member) => view.now < recreatedAt(member) && member.upToDate);
  return [
    ...waiting.map((member) =>
      hold(
        HOLDS.disruptions,
        "WorkloadBackOff",
        {
          member: member.name,
          times: member.ends ?? 1,
          detail: member.workload.detail,
          seconds: wait(member) / 1000,
        },
        { until: recreatedAt(member) },
      ),
    ),
    ...(due
      ? [
          act(
            "heal",
            "WorkloadEnded",
            { member: due.name, detail: due.workload.detail },
            { kind: "StopWorkload", member: due.name },
          ),
        ]
      : []),
  ];
};

function hasEnded(member: MemberView): member is Ended {
  const { workload } = member;
  return workload.state === "exited" && workload.ended === true && meaningOf(workload.cause).data === "kept";
}

function wait({ ends = 1 }: MemberView): number {
  return WAITS_MS[Math.min(ends, WAITS_MS.length) - 1] ?? 0;
}

function recreatedAt(member: Ended): number {
  return member.workload.since + wait(member);
}
