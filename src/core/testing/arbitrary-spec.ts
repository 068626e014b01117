/** Specs at random, for arbitrary-observation.ts. */
import fc from "fast-check";
import type { EtcdClusterSpecInput } from "../../api/etcd-cluster-spec.ts";
import { maybe, seldom, usually } from "./arbitrary-parts.ts";
import { specOf } from "./cluster.ts";

type TLSInput = NonNullable<EtcdClusterSpecInput["tls"]>;

export const VERSIONS = ["3.4.45", "3.5.20", "3.5.35", "3.6.12", "3.6.16", "3.7.3"];
export const RESTORE = { source: { s3: { bucket: "backups", key: "demo.db" } } };

export const arbitrarySpec = fc
  .record({
    replicas: fc.integer({ min: 0, max: 7 }),
    learners: fc.integer({ min: 0, max: 1 }),
    version: fc.constantFrom(...VERSIONS),
    paused: seldom,
    options: fc.constantFrom({}, {}, { logLevel: "Debug" as const }, { extraArgs: { "no-such-flag": "1" } }),
    onDelete: fc.constantFrom("Retain" as const, "Delete" as const),
    onScaleIn: fc.constantFrom("Retain" as const, "Delete" as const),
    className: maybe(fc.constant("fast")),
    canary: fc.boolean(),
    strategy: fc.constantFrom("Rolling" as const, "OnApproval" as const),
    maxReplacementsPerHour: fc.integer({ min: 0, max: 2 }),
    spaceCure: fc.boolean(),
    bootstrap: maybe(fc.constant({ restore: RESTORE })),
    tls: usually<TLSInput>(
      {},
      fc.constant({ clientAuth: "None" }),
      fc.constant({ transition: { proceed: "After", after: "1m" } }),
    ),
  })
  .map(({ onDelete, onScaleIn, className, canary, strategy, maxReplacementsPerHour, spaceCure, ...rest }) =>
    specOf({
      ...rest,
      storage: { retention: { onDelete, onScaleIn }, className },
      update: { canary, strategy },
      repair: { maxReplacementsPerHour },
      maintenance: { spaceCure },
    }),
  );
