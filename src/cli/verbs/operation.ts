/** `quorate operation`: tasks that run once, past and present. */
import { confirm } from "../act/confirm.ts";
import { followed, chosenOperation, isFinal } from "../act/operation.ts";
import { printResult } from "../act/result.ts";
import { CommandError, EXIT } from "../exit.ts";
import { show, styleOf, tableWidthOf } from "../output.ts";
import { operationText } from "../screen/operation.ts";
import { operationLines } from "../screen/operations.ts";
import { chosenCluster } from "../target/choose.ts";
import type { OperationObject } from "../target/target.ts";
import { clusterVerb, verbGroup } from "../verb.ts";
import { CLUSTER } from "../verb-data.ts";

const OPERATION = { name: "operation", help: "name of the EtcdOperation" } as const;

const list = clusterVerb(
  {
    name: "operation list",
    summary: "list operations with their phase, oldest first",
    about: "Operations of all clusters of the namespace, or of one. Finished ones are deleted after a day.",
    arguments: [{ ...CLUSTER, help: "only operations of this cluster" }],
    groups: ["output", "watch", "target"],
    examples: [{ does: "Operations of one cluster, as they change", line: "operation list demo --watch" }],
  },
  async ({ flags, args }, io, target) => {
    const style = styleOf(io, flags);
    const cluster = args.cluster === undefined ? undefined : await chosenCluster(target, args.cluster);
    await show(
      io,
      flags,
      async () => {
        const operations = await target.operations(cluster);
        return {
          data: operations,
          text: () =>
            operations.length === 0
              ? `no operations ${cluster === undefined ? target.where : `for ${cluster.metadata.name}`}`
              : operationLines(operations, { now: io.clock.now(), width: tableWidthOf(io) }, style).join(
                  "\n",
                ),
        };
      },
      target,
    );
  },
);

const showOne = clusterVerb(
  {
    name: "operation show",
    summary: "show an operation with its steps",
    arguments: [OPERATION],
    flags: { follow: { kind: "switch", short: "f", help: "show steps as they happen, until its end" } },
    groups: ["wait", "output", "target"],
    examples: [{ does: "What it did so far, and what comes", line: "operation show demo-restart-1f0c2a -f" }],
    exitCodes: [{ code: EXIT.failed, meaning: "with --follow: the operation failed or was rejected" }],
  },
  async ({ flags, args }, io, target) => {
    const style = styleOf(io, flags);
    const operation = await chosenOperation(target, args.operation);
    const end = flags.follow ? await followed(io, flags, target, operation) : operation;
    await show(
      io,
      { output: flags.output, watch: false },
      async () => await Promise.resolve({ data: end, text: () => operationText(end, style) }),
    );
    return flags.follow && end.status?.phase !== "Succeeded" ? EXIT.failed : EXIT.done;
  },
);

const cancel = clusterVerb(
  {
    name: "operation cancel",
    summary: "cancel an operation, or stop it after the step under way",
    about:
      "Deletes the EtcdOperation. Steps already taken are not undone, and a replacement of a member that was requested is completed.",
    arguments: [OPERATION],
    groups: ["confirm", "dry", "output", "target"],
    examples: [{ does: "Cancel a restart that still waits", line: "operation cancel demo-restart-1f0c2a" }],
  },
  async ({ flags, args }, io, target) => {
    const operation = await chosenOperation(target, args.operation);
    const { phase, steps = [] } = operation.status ?? {};
    if (isFinal(operation))
      throw new CommandError(
        EXIT.failed,
        `${args.operation} has ended (${phase}), so there is nothing to cancel`,
      );
    const isRunning = phase === "Running";
    const replaced = replacementBy(operation);
    if (isRunning && !flags["dry-run"])
      await confirm(io, flags, {
        change: `Stopping ${args.operation}`,
        risk:
          replaced ??
          `it stops after the step under way; ${steps.length} ${steps.length === 1 ? "step" : "steps"} done so far stay done`,
      });
    if (!flags["dry-run"]) await target.deleteOperation(operation);
    const end = replaced === undefined ? "stops after the step under way" : `is deleted; ${replaced}`;
    await printResult(io, flags, `${args.operation} ${isRunning ? end : "is cancelled"}`, operation);
  },
);

/** The member's record holds the request, which outlives the operation; the first step says that it is there. */
function replacementBy({ spec, status }: OperationObject): string | undefined {
  const { name } = (spec["replaceMember"] ?? {}) as { readonly name?: string };
  if (name === undefined) return undefined;
  const already = (status?.steps ?? []).length > 0 ? "" : " if it was requested already";
  return `the replacement of ${name} is completed all the same${already}`;
}

export const verb = verbGroup(
  {
    name: "operation",
    summary: "list, show or cancel tasks that run once, such as a restart",
    examples: [{ does: "What runs and what ran", line: "operation list" }],
  },
  {
    list: async () => await Promise.resolve(list),
    show: async () => await Promise.resolve(showOne),
    cancel: async () => await Promise.resolve(cancel),
  },
);
