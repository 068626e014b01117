/**
 * `quorate local`: a real etcd cluster on this machine, from the same EtcdCluster that Kubernetes takes.
 * Each of its verbs is one file in `local/`.
 */
import { verbGroup } from "./verb.ts";

export const { summary, usage, verbs, group, run } = verbGroup(
  {
    name: "local",
    summary: "run a self-healing etcd cluster on this machine, without Kubernetes",
    about: "It takes the same EtcdCluster manifest as Kubernetes, and several clusters can run side by side.",
    examples: [
      { does: "Run a cluster of three members in the foreground", line: "local up" },
      { does: "In another terminal: kill a member, and see it come back", line: "local kill etcd-1" },
    ],
  },
  {
    up: () => import("./local/up.ts"),
    status: () => import("./local/status.ts"),
    env: () => import("./local/env.ts"),
    apply: () => import("./local/apply.ts"),
    scale: () => import("./local/scale.ts"),
    upgrade: () => import("./local/upgrade.ts"),
    approve: () => import("./local/approve.ts"),
    plan: () => import("./local/plan.ts"),
    why: () => import("./local/why.ts"),
    logs: () => import("./local/logs.ts"),
    kill: () => import("./local/kill.ts"),
    stop: () => import("./local/stop.ts"),
    wipe: () => import("./local/wipe.ts"),
    corrupt: () => import("./local/corrupt.ts"),
    replace: () => import("./local/replace.ts"),
    operation: () => import("./local/operation.ts"),
    snapshot: () => import("./local/snapshot.ts"),
    schedule: () => import("./local/schedule.ts"),
    user: () => import("./local/user.ts"),
    role: () => import("./local/role.ts"),
    fence: () => import("./local/fence.ts"),
    unfence: () => import("./local/unfence.ts"),
    down: () => import("./local/down.ts"),
    delete: () => import("./local/delete.ts"),
  },
);
