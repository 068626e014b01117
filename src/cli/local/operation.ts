/** `quorate local operation create|list|delete`: tasks that run once. */
import { API_VERSION } from "../../api/metadata.ts";
import { nearest } from "../../api/suggest.ts";
import { OPERATIONS, type OperationName } from "../../api/status-words.ts";
import type { EtcdOperation } from "../../api/etcd-operation.ts";
import { commandOf } from "../called.ts";
import { UsageError, type CliIo } from "../io.ts";
import { oneOf } from "../parse.ts";
import { table } from "../table.ts";
import { print } from "./output.ts";
import { exactly, parse, placeOf, type Place } from "./place.ts";
import { call, hasController } from "./session.ts";
import { ending } from "./usage.ts";

export const summary = "create, list or delete tasks that run once, such as a defragmentation";
export const usage = (command: string): string => `Usage: ${command} local operation create <task> [options]
       ${command} local operation list [options]
       ${command} local operation delete <operation> [options]

Tasks: ${OPERATIONS.join(", ")}.
Operations run one at a time, in the order of their creation. Deleting one that is pending cancels it; one that runs
stops after the step under way.

Options of create:
      --as <operation>    its name (default: <task>-<random>)
      --member <member>   a member to defragment, restart or replace, or that is to lead; may be repeated
      --revision <n>      compact up to this revision
      --retain <n>        compact all but this many of the newest revisions
      --plan <hash>       recoverQuorum: the plan to carry out, as status.recovery has it
      --ca                rotate the certificate authorities as well
      --token-key         replace the key of auth tokens instead of certificates
      --ttl <seconds>     delete the operation so long after it has finished

Options:
${ending(
  command,
  ["Defragment all members", "operation create defragment"],
  ["Let etcd-2 lead", "operation create moveLeader --member etcd-2"],
  ["Keep 1000 revisions, and the operation for an hour", "operation create compact --retain 1000 --ttl 3600"],
  ["Rotate the CAs too", "operation create rotateCertificates --ca"],
)}`;

const options = {
  as: { type: "string" },
  member: { type: "string", multiple: true },
  revision: { type: "string" },
  retain: { type: "string" },
  plan: { type: "string" },
  ca: { type: "boolean" },
  "token-key": { type: "boolean" },
  ttl: { type: "string" },
} as const;

type Values = ReturnType<typeof parse<typeof options>>["values"];

export async function run(args: string[], io: CliIo): Promise<number> {
  const { values, positionals } = parse(args, options);
  const [verb = "", ...rest] = positionals;
  const place = placeOf(values, io);
  if (verb === "create") return await create(place, io, exactly(rest, "task")[0] ?? "", values);
  if (verb === "list") {
    exactly(rest);
    return await list(place, io);
  }
  if (verb === "delete") {
    const deleted = await call(place, io, "deleteOperation", exactly(rest, "operation")[0]);
    print(io, place, deleted, `operation ${deleted.metadata.name} deleted`);
    return 0;
  }
  throw new UsageError(
    verb === ""
      ? "missing: create, list or delete"
      : `unknown verb ${JSON.stringify(verb)}: ${oneOf(verb, ["create", "list", "delete"])}`,
  );
}

async function create(place: Place, io: CliIo, task: string, values: Values): Promise<number> {
  if (!isTask(task)) {
    const near = nearest(task, [...OPERATIONS]);
    const hint = near === undefined ? `one of: ${OPERATIONS.join(", ")}` : `did you mean ${near}?`;
    throw new UsageError(`unknown task ${JSON.stringify(task)}: ${hint}`);
  }
  const { cluster } = await call(place, io, "status");
  const { as: name, ttl } = values;
  const prefix = `${task.toLowerCase()}-`;
  const created = await call(place, io, "createOperation", {
    apiVersion: API_VERSION,
    kind: "EtcdOperation",
    metadata: name === undefined ? { generateName: prefix } : { name },
    spec: {
      cluster: cluster.metadata.name,
      [task]: parameters(task, values, io),
      ...(ttl !== undefined && { ttlSecondsAfterFinished: number("--ttl", ttl) }),
    },
  });
  print(io, place, created, `operation ${created.metadata.name} created`);
  if (!place.json) {
    const next = (await hasController(place, io))
      ? `Watch: ${commandOf(io)} local operation list`
      : `It starts with the cluster: ${commandOf(io)} local up`;
    io.stdout.write(`${next}\n`);
  }
  return 0;
}

const FLAGS = ["member", "revision", "retain", "plan", "ca", "token-key"] as const;
type Flag = (typeof FLAGS)[number];

/** Which flags a task takes; any other one is a mistake. */
const TAKES: Readonly<Record<OperationName, readonly Flag[]>> = {
  defragment: ["member"],
  compact: ["revision", "retain"],
  moveLeader: ["member"],
  replaceMember: ["member"],
  restart: ["member"],
  recoverQuorum: ["plan"],
  restore: [],
  rotateCertificates: ["ca", "token-key"],
  collectReport: [],
};

function parameters(task: OperationName, values: Values, io: CliIo): object {
  for (const flag of FLAGS)
    if (values[flag] !== undefined && !TAKES[task].includes(flag))
      throw new UsageError(`--${flag} cannot be used with ${task}`);
  const { member: members = [], revision, retain, plan } = values;
  if (task === "restore")
    throw new UsageError(
      `restore replaces all data, so it shows a plan first: ${commandOf(io)} restore <snapshot> --local`,
    );
  if (task === "recoverQuorum") {
    if (plan === undefined) throw new UsageError("recoverQuorum needs --plan <hash>");
    return { approve: plan };
  }
  const [member, another] = members;
  const takesOne = task === "moveLeader" || task === "replaceMember";
  if (takesOne && another !== undefined) throw new UsageError(`${task} takes one --member`);
  if (task === "replaceMember" && member === undefined)
    throw new UsageError("replaceMember needs --member <member>");
  if (task === "moveLeader") return member === undefined ? {} : { to: member };
  if (task === "replaceMember") return { name: member };
  if (task === "compact")
    return {
      ...(revision !== undefined && { revision: number("--revision", revision) }),
      ...(retain !== undefined && { retain: number("--retain", retain) }),
    };
  if (task === "rotateCertificates")
    return { ...(values.ca && { ca: true }), ...(values["token-key"] && { tokenKey: true }) };
  return members.length > 0 ? { members } : {};
}

function number(flag: string, text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new UsageError(`${flag} ${text}: give a whole number of 0 or more`);
  return Number(text);
}

async function list(place: Place, io: CliIo): Promise<number> {
  const operations = await call(place, io, "listOperations");
  print(io, place, operations, operations.length === 0 ? "no operations" : rowsOf(operations));
  return 0;
}

function rowsOf(operations: readonly EtcdOperation[]): string {
  const rows = operations.map(({ metadata, spec, status }) => [
    metadata.name,
    OPERATIONS.find((task) => spec[task] !== undefined) ?? "",
    status?.phase ?? "Pending",
    status?.message ?? "",
  ]);
  return table([["NAME", "OPERATION", "PHASE", "MESSAGE"], ...rows]);
}

function isTask(text: string): text is OperationName {
  return (OPERATIONS as readonly string[]).includes(text);
}
