/** Members on their way in, as etcd lists them and before they answer. */
import { decide } from "../decide.ts";
import type { Observation } from "../observation.ts";
import { predict } from "../plan/predict.ts";
import { change, edit, healthy } from "./cluster.ts";

export const silent = (o: Observation, name: string) =>
  change(o, name, { answer: { reachable: false, error: "connection refused" } });

export const listed = (
  o: Observation,
  name: string,
  more: { name?: string; isLearner?: boolean },
): Observation => ({
  ...o,
  etcd: {
    ...o.etcd,
    list: o.etcd.list && {
      ...o.etcd.list,
      members: o.etcd.list.members.map((entry) => (entry.name === name ? { ...entry, ...more } : entry)),
    },
  },
});

/** demo-4 joins three others: etcd knows it, and it was permitted to start. */
export function starting(): Observation {
  let world = edit(healthy(), { replicas: 4 });
  for (let act = decide(world).act; act; act = decide(world).act) {
    world = predict(world, act.action);
    if (act.action.kind === "UpdateMember" && act.action.purpose === "permit-start") break;
  }
  return silent(listed(world, "demo-4", { name: "" }), "demo-4");
}
