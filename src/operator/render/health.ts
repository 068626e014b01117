/**
 * Which paths tell a member's health, by version: `/livez` and `/readyz` came with 3.4.29, 3.5.11 and 3.6 (R34).
 */
import type { MemberRole } from "../../core/record.ts";
import { version as parsed } from "../../core/version.ts";

export interface HealthPaths {
  readonly live: string;
  readonly ready: string;
}

const SINCE: Readonly<Record<number, number>> = { 4: 29, 5: 11 };

export function healthPaths(version: string, role: MemberRole): HealthPaths {
  const { minor, patch } = parsed(version);
  if (patch < (SINCE[minor] ?? 0)) {
    // R35: a serializable read, and no alarm may count.
    return {
      live: "/health?serializable=true&exclude=NOSPACE&exclude=CORRUPT",
      ready: "/health?exclude=NOSPACE&exclude=CORRUPT",
    };
  }
  // H12: CORRUPT is raised on the whole cluster, and reads go on; readers keep their endpoints.
  const excluded = ["data_corruption", ...(role === "Learner" ? ["non_learner"] : [])];
  return { live: "/livez", ready: `/readyz?${excluded.map((check) => `exclude=${check}`).join("&")}` };
}
