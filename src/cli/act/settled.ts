/** Waiting until a cluster is as it was asked to be, or says that it cannot. */
import { findCondition } from "../../core/status/condition.ts";
import { CommandError, EXIT } from "../exit.ts";
import type { CliIo } from "../io.ts";
import type { ClusterObject, Target } from "../target/target.ts";
import { Progress, until, type WaitValues } from "./progress.ts";

/** What is waited for, of a status that is about the newest spec. */
export type Goal = (cluster: ClusterObject) => boolean;

export const isReady: Goal = ({ status }) => findCondition(status?.conditions, "Ready")?.status === "True";
export const isHibernated: Goal = ({ status }) => status?.phase === "Hibernated";
export const isPaused: Goal = ({ status }) => findCondition(status?.conditions, "Ready")?.reason === "Paused";

/** The cluster as it was when it reached its goal. */
export async function settled(
  io: CliIo,
  flags: WaitValues,
  target: Target,
  cluster: ClusterObject,
  goal: Goal,
): Promise<ClusterObject> {
  const { name, generation = 0, uid } = cluster.metadata;
  const progress = new Progress(io);
  const goesOn = `The change continues; watch it with: ${target.command} status ${name}${target.flags} --watch`;
  return await until(
    io,
    flags,
    progress,
    async () => {
      const now = await target.cluster(name);
      if (now.metadata.uid !== uid)
        throw new CommandError(EXIT.failed, `${name} was deleted while the command waited for it`);
      const { status } = now;
      if ((status?.observedGeneration ?? -1) < generation) return { doing: unseen(target) };
      if (goal(now)) return { done: now };
      const stalled = findCondition(status?.conditions, "Stalled");
      if (stalled?.status === "True" && (stalled.observedGeneration ?? 0) >= generation)
        throw new CommandError(EXIT.failed, `${name} is stalled (${stalled.reason}): ${stalled.message}`);
      return { ...(status?.message !== undefined && { doing: status.message }) };
    },
    goesOn,
  );
}

/** Nobody has looked at the change yet. */
export function unseen({ kind }: Pick<Target, "kind">): string {
  return kind === "local" ? "waiting for the controller" : "waiting for the operator";
}
