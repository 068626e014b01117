/** An EtcdOperation, created and followed to its end: its steps as they happen, then what it came to. */
import { API_VERSION } from "../../api/metadata.ts";
import type { OperationPhase } from "../../api/status-words.ts";
import { hex } from "../../seams/random.ts";
import { CommandError, EXIT } from "../exit.ts";
import type { SharedValues } from "../flag.ts";
import type { CliIo } from "../io.ts";
import { noSuch } from "../target/choose.ts";
import type { ClusterObject, OperationObject, Target } from "../target/target.ts";
import { Progress, until } from "./progress.ts";
import { printResult, warn } from "./result.ts";
import { heldByPause, pauseNote, unseen } from "./settled.ts";

/** Long enough to be looked at, so that finished ones do not pile up. */
const KEPT_SECONDS = 86_400;
const FINAL: ReadonlySet<string> = new Set<OperationPhase>(["Succeeded", "Failed", "Rejected"]);

export function isFinal({ status }: OperationObject): boolean {
  return status?.phase !== undefined && FINAL.has(status.phase);
}

/** `demo-restart-1f0c2a`. */
export function newOperation(
  io: Pick<CliIo, "random">,
  cluster: ClusterObject,
  word: string,
  task: Readonly<Record<string, unknown>>,
): OperationObject {
  const { name, namespace } = cluster.metadata;
  return {
    apiVersion: API_VERSION,
    kind: "EtcdOperation",
    metadata: { name: `${name}-${word}-${hex(io.random, 3)}`, ...(namespace !== undefined && { namespace }) },
    spec: { cluster: name, ...task, ttlSecondsAfterFinished: KEPT_SECONDS },
  };
}

type RunFlags = Pick<SharedValues, "no-wait" | "timeout" | "dry-run" | "output">;

/** Creates it and waits for its end, unless the flags say otherwise. `what` is said of it: `Restarting demo-1`. */
export async function runOperation(
  io: CliIo,
  flags: RunFlags,
  target: Target,
  operation: OperationObject,
  what: string,
): Promise<void> {
  if (flags["dry-run"]) return await printResult(io, flags, what, operation);
  const created = await target.createOperation(operation);
  const name = created.metadata?.name ?? "";
  const show = `${target.command} operation show ${name}${target.flags}`;
  const recorded = `operation ${name} is recorded`;
  // What was created is told before anything else is asked, which may get no answer: a second try would do it twice.
  if (flags["no-wait"])
    await printResult(io, flags, `${what}: operation ${name} created. See: ${show}`, created);
  else new Progress(io).say(`${what} (operation ${name})`);
  const cluster = await target.cluster(String(operation.spec["cluster"]));
  // The operator rejects a restore of a paused cluster, and says so in the operation.
  const isHeld = cluster.spec.paused && operation.spec["restore"] === undefined;
  if (flags["no-wait"]) {
    if (isHeld) warn(io, [pauseNote(target, cluster, recorded)]);
    return;
  }
  if (isHeld) throw heldByPause(target, cluster, recorded);
  const end = await followed(io, flags, target, created);
  const { phase = "", reason = "", message = "" } = end.status ?? {};
  if (phase !== "Succeeded")
    throw new CommandError(
      EXIT.failed,
      `${name} ${phase === "Rejected" ? "was rejected, and nothing was changed" : "failed"} (${reason}): ${message}`,
    );
  await printResult(io, flags, message === "" ? `${name} succeeded` : message, end);
}

/** The operation at its end; steps that were taken before are not told again. */
export async function followed(
  io: CliIo,
  flags: Pick<RunFlags, "timeout" | "no-wait">,
  target: Target,
  operation: OperationObject,
): Promise<OperationObject> {
  const progress = new Progress(io);
  const { name = "", uid } = operation.metadata ?? {};
  let shown = operation.status?.steps?.length ?? 0;
  const goesOn = `The operation continues; see: ${target.command} operation show ${name}${target.flags}`;
  return await until(
    io,
    flags,
    progress,
    async () => {
      const now = (await target.operations()).find(({ metadata }) => metadata?.name === name);
      if (now === undefined || (uid !== undefined && now.metadata?.uid !== uid))
        throw new CommandError(EXIT.failed, `operation ${name} was cancelled: it was deleted before its end`);
      const { steps = [], message, phase } = now.status ?? {};
      for (const step of steps.slice(shown)) progress.say(step.message, Date.parse(step.at));
      shown = Math.max(shown, steps.length);
      if (isFinal(now)) return { done: now };
      return { doing: phase === undefined ? unseen(target) : (message ?? phase) };
    },
    goesOn,
  );
}

export async function chosenOperation(target: Target, name: string): Promise<OperationObject> {
  const operations = await target.operations();
  const found = operations.find(({ metadata }) => metadata?.name === name);
  if (found) return found;
  const names = operations.map(({ metadata }) => metadata?.name ?? "");
  throw noSuch("operation", name, names, target.where);
}
