/** `quorate local user apply|list|delete`: users of etcd's authentication. */
import { authUsage, runAuthVerb } from "./auth-verb.ts";

export const summary = "apply, list or delete users of etcd's authentication";
export const usage = authUsage(
  "user",
  "EtcdUser",
  "Users are applied while spec.auth.enabled is true. The password of a user is read from the file\nsecrets/<passwordSecret>/password in the cluster's directory.",
);
export const run = runAuthVerb("EtcdUser");
