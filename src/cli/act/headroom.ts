/** How much a cluster can lose now: shown before a change that takes members down. */
import { quorum, tolerance } from "../../core/quorum.ts";
import type { ClusterObject } from "../target/target.ts";

export function headroom({ status }: ClusterObject): string {
  const { replicas: voters = 0, readyReplicas: healthy = 0 } = status ?? {};
  if (voters === 0) return "no voter is running";
  const spare = Math.max(0, healthy - quorum(voters));
  const may = spare === 0 ? "none may fail" : `${spare} may fail`;
  return `${healthy} of ${voters} voters are healthy, quorum is ${quorum(voters)}, so ${may}`;
}

/** What becomes of members beyond a smaller size. */
export function removal({ spec }: ClusterObject, gone: number): string {
  const volumes = spec.storage?.retention?.onScaleIn === "Retain" ? "retained" : "deleted";
  return gone === 1
    ? `1 member is removed and its volume ${volumes}`
    : `${gone} members are removed one at a time and their volumes ${volumes}`;
}

/** What a size can bear, as the rest of a sentence. */
export function tolerates(voters: number): string {
  const may = tolerance(voters);
  return may === 0 ? "no voter may fail" : `${may} of ${voters} voters may fail`;
}
