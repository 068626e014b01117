/** `quorate local user` and `quorate local role`: EtcdUsers and EtcdRoles of a cluster on this machine. */
import type { ObjectKind } from "../../core/auth/facts.ts";
import type { AuthObject } from "../../local/auth-store.ts";
import { runObjectVerb } from "./object-verb.ts";
import { call } from "./session.ts";

export { objectUsage as authUsage } from "./object-verb.ts";

export function runAuthVerb(kind: ObjectKind) {
  return runObjectVerb<AuthObject>({
    word: kind === "EtcdUser" ? "user" : "role",
    kind,
    apply: async (place, io, manifest) => await call(place, io, "applyAuthObject", manifest),
    list: async (place, io) => await call(place, io, "listAuthObjects", kind),
    remove: async (place, io, name) => await call(place, io, "deleteAuthObject", { kind, name }),
    columns: ["NAME", "IN ETCD", "READY", "REASON", "MESSAGE"],
    row: ({ metadata, status }) => [
      metadata.name,
      status?.name ?? "",
      status?.conditions?.find(({ type }) => type === "Ready")?.status ?? "Unknown",
      status?.reason ?? "",
      status?.message ?? "",
    ],
  });
}
