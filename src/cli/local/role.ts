/** `quorate local role apply|list|delete`: roles of etcd's authentication. */
import { authUsage, runAuthVerb } from "./auth-verb.ts";

export const summary = "apply, list or delete roles of etcd's authentication";
export const usage = authUsage(
  "role",
  "EtcdRole",
  "Roles are applied while spec.auth.enabled is true. A role that is deleted stays until no user has it.",
);
export const run = runAuthVerb("EtcdRole");
