/** Now and then the data of all voters is compared, on every version, alarm or not (R30, H8). */
import { millisecondsOf } from "../../api/duration.ts";
import { act } from "../outcome.ts";
import type { Rule } from "../decide.ts";

export const compareHashes: Rule = (view) => {
  const interval = millisecondsOf(view.spec.maintenance.hashCheck.interval);
  if (!view.established || !view.hasQuorum || interval === 0 || view.voters < 2) return [];
  if (view.members.some((member) => !member.healthy)) return [];
  const last = view.observation.etcd.hashes?.at;
  if (last !== undefined && view.now - last < interval) return [];
  return [act("maintain", "time to compare the data of all voters", { kind: "CompareHashes" })];
};
