/** Waiting until a cluster is as it was asked to be, or says that it cannot. */
import { findCondition } from "../../core/status/condition.ts";
import { CommandError, EXIT } from "../exit.ts";
import type { SharedValues } from "../flag.ts";
import type { CliIo } from "../io.ts";
import type { ClusterObject, Target } from "../target/target.ts";
import { Progress, until, type WaitValues } from "./progress.ts";
import { printResult, warn } from "./result.ts";

/** What is waited for, of a status that is about the newest spec. */
export type Goal = (cluster: ClusterObject) => boolean;

export const isReady: Goal = ({ status }) => findCondition(status?.conditions, "Ready")?.status === "True";
export const isHibernated: Goal = ({ status }) => status?.phase === "Hibernated";
/** Its Ready may have another reason: a pause says nothing about whether the cluster serves. */
export const isPaused: Goal = ({ status }) => status?.phase === "Paused";

/** What a cluster comes to when its spec is carried out: a hibernated one is never Ready. */
export function goalOf({ spec }: ClusterObject): Goal {
  return spec.replicas === 0 ? isHibernated : isReady;
}

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
      if (now.spec.paused && goal !== isPaused) throw heldByPause(target, now, "the change is recorded");
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

/** What was asked for waits for a person, for as long as they want: not a matter of a time limit. */
export function heldByPause(target: Naming, cluster: ClusterObject, what: string): CommandError {
  return new CommandError(EXIT.failed, pauseNote(target, cluster, what));
}

/** The end of a verb that does not wait: it did what it was asked for, and a pause is told beside it. */
export async function printWritten(
  io: CliIo,
  flags: Pick<SharedValues, "output" | "dry-run">,
  { target, cluster, what = "the change is recorded" }: Written,
  text: string,
  data: unknown = cluster,
): Promise<void> {
  await printResult(io, flags, text, data);
  if (cluster.spec.paused) warn(io, [pauseNote(target, cluster, what)]);
}

interface Written {
  readonly target: Naming;
  /** As it is after the change. */
  readonly cluster: ClusterObject;
  readonly what?: string;
}

type Naming = Pick<Target, "command" | "flags">;

export function pauseNote(
  { command, flags }: Naming,
  { metadata: { name } }: ClusterObject,
  what: string,
): string {
  return `${name} is paused: ${what}, and nothing is done until the pause ends. End it with: ${command} resume ${name}${flags}`;
}

/** Nobody has looked at the change yet. */
export function unseen({ kind }: Pick<Target, "kind">): string {
  return kind === "local" ? "waiting for the controller" : "waiting for the operator";
}
