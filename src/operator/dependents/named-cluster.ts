/** The cluster that objects name which it cannot act on, and what it takes to report that to them. */
import type { KubeClient } from "../../kube/client.ts";
import type { Log } from "../../kube/log.ts";
import type { Clock } from "../../seams/clock.ts";
import type { Stores } from "../cache/stores.ts";
import type { ClockSkew } from "../observe/clock-skew.ts";

/** The cluster that a dependent names. */
export type NamedCluster =
  | { readonly is: "absent" }
  /** Its worker acts on what it understands. */
  | { readonly is: "present"; readonly uid: string }
  /** Nothing can be done for it before somebody corrects it. */
  | { readonly is: "invalid"; readonly uid: string; readonly why: string };

export interface DependentOptions {
  readonly client: KubeClient;
  readonly stores: Pick<
    Stores,
    "operationsOf" | "snapshotsOf" | "snapshot" | "schedule" | "usersOf" | "rolesOf"
  >;
  readonly clock: Clock;
  readonly skew: Pick<ClockSkew, "serverNow">;
  readonly log: Log;
  /** Our own, which Jobs run; undefined where nobody told us. */
  readonly image?: string | undefined;
}
