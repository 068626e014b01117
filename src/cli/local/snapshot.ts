/** `quorate local snapshot apply|list|delete`: snapshots that the controller takes. */
import type { EtcdSnapshot } from "../../api/etcd-snapshot.ts";
import { objectUsage, runObjectVerb } from "./object-verb.ts";
import { call } from "./session.ts";

const kind = "EtcdSnapshot";

export const summary = "apply, list or delete snapshots that the controller takes";
export const usage = objectUsage(
  "snapshot",
  kind,
  "The controller takes each EtcdSnapshot once, into a directory or a bucket, and verifies it by a restore.\nCredentials of a bucket come from the environment of the controller; the key of spec.encryption is read\nfrom the file secrets/<keySecret>/key in the cluster's directory.",
);
export const run = runObjectVerb<EtcdSnapshot>({
  word: "snapshot",
  kind,
  apply: async (place, io, manifest) => await call(place, io, "applySnapshot", manifest),
  list: async (place, io) => (await call(place, io, "listSnapshots", kind)) as readonly EtcdSnapshot[],
  remove: async (place, io, name) => await call(place, io, "deleteSnapshot", { kind, name }),
  columns: ["NAME", "PHASE", "REVISION", "SIZE", "VERIFIED", "MESSAGE"],
  row: ({ metadata, status }) => [
    metadata.name,
    status?.phase ?? "Pending",
    String(status?.revision ?? ""),
    String(status?.size ?? ""),
    status?.verifiedAt ?? "",
    status?.message ?? "",
  ],
});
