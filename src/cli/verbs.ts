/** The table of verbs, in the order in which help lists them. Each is loaded only when it is called. */
import type { Verbs } from "./io.ts";
import { completeVerb } from "./verbs/complete.ts";

export const verbs: Verbs = {
  status: async () => (await import("./verbs/status.ts")).verb,
  list: async () => (await import("./verbs/list.ts")).verb,
  members: async () => (await import("./verbs/members.ts")).verb,
  why: async () => (await import("./verbs/why.ts")).verb,
  events: async () => (await import("./verbs/events.ts")).verb,
  etcdctl: async () => (await import("./verbs/etcdctl.ts")).verb,
  shell: async () => (await import("./verbs/shell.ts")).verb,
  certificate: async () => (await import("./verbs/certificate.ts")).verb,
  apply: async () => (await import("./verbs/apply.ts")).verb,
  scale: async () => (await import("./verbs/scale.ts")).verb,
  upgrade: async () => (await import("./verbs/upgrade.ts")).verb,
  hibernate: async () => (await import("./verbs/hibernate.ts")).verb,
  wake: async () => (await import("./verbs/wake.ts")).verb,
  pause: async () => (await import("./verbs/pause.ts")).verb,
  resume: async () => (await import("./verbs/resume.ts")).verb,
  approve: async () => (await import("./verbs/approve.ts")).verb,
  member: async () => (await import("./verbs/member.ts")).verb,
  leader: async () => (await import("./verbs/leader.ts")).verb,
  restart: async () => (await import("./verbs/restart.ts")).verb,
  defrag: async () => (await import("./verbs/defrag.ts")).verb,
  compact: async () => (await import("./verbs/compact.ts")).verb,
  operation: async () => (await import("./verbs/operation.ts")).verb,
  local: () => import("./local.ts"),
  etcd: () => import("./etcd.ts"),
  operator: () => import("./operator.ts"),
  completion: async () => (await import("./verbs/completion.ts")).verb,
  version: async () => (await import("./verbs/version.ts")).verb,
  __complete: async () => await Promise.resolve(completeVerb(() => verbs)),
};
