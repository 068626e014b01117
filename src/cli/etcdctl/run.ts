/**
 * The built-in client: the commands of etcdctl that people use most, for machines without an etcdctl. What it prints is
 * close to etcdctl's own, so that scripts need not care which of the two answered.
 */
import type { EtcdClient } from "../../etcd/client.ts";
import { isEtcdError } from "../../etcd/errors.ts";
import type { RangeOptions } from "../../etcd/kv.ts";
import { CommandError, EXIT } from "../exit.ts";
import { UsageError, type CliIo } from "../io.ts";
import { ownClient, type EtcdUser, type Reached } from "../reach/reached.ts";
import { parseCall, type EtcdctlCall } from "./arguments.ts";
import { printed, type Answer, type EndpointHealth, type EndpointStatus } from "./print.ts";

export async function runBuiltIn(reached: Reached, args: readonly string[], io: CliIo): Promise<number> {
  const call = parseCall(args);
  const own = ownClient(reached, io, userOf(call.user ?? io.env["ETCDCTL_USER"], io));
  try {
    const answer = await answerOf(call, own.client, reached, io);
    io.stdout.write(printed(answer, call));
    return answer.kind === "health" && answer.endpoints.some(({ healthy }) => !healthy)
      ? EXIT.failed
      : EXIT.done;
  } catch (error) {
    if (isEtcdError(error)) throw new CommandError(EXIT.failed, error.message, { cause: error });
    throw error;
  } finally {
    await own.close();
  }
}

async function answerOf(
  { command, arguments: [key = "", second], values }: EtcdctlCall,
  client: EtcdClient,
  { endpoints }: Reached,
  io: CliIo,
): Promise<Answer> {
  const { signal } = io;
  switch (command) {
    case "get": {
      const range = rangeOf(key, second, values);
      return { kind: "range", ...(await client.kv.range(range.key, { ...range.options, signal })) };
    }
    case "put": {
      const previous = values["prev-kv"] === true;
      return { kind: "put", ...(await client.kv.put(key, second ?? "", { previous, signal })) };
    }
    case "del": {
      const { key: from, options } = rangeOf(key, second, values);
      return { kind: "del", ...(await client.kv.delete(from, { ...options, signal })) };
    }
    case "member list":
      return { kind: "members", ...(await client.cluster.memberList({ signal })) };
    case "alarm list":
      return { kind: "alarms", alarms: await client.maintenance.alarms({ signal }) };
    case "endpoint status":
      return {
        kind: "status",
        endpoints: await Promise.all(endpoints.map((endpoint) => statusOf(client, endpoint, signal))),
      };
    case "endpoint health":
      return {
        kind: "health",
        endpoints: await Promise.all(endpoints.map((endpoint) => healthOf(client, endpoint, io))),
      };
  }
}

type Endpoint = Reached["endpoints"][number];

async function statusOf(
  client: EtcdClient,
  endpoint: Endpoint,
  signal: AbortSignal,
): Promise<EndpointStatus> {
  try {
    return { endpoint: endpoint.name, status: await client.maintenance.status(endpoint, { signal }) };
  } catch (error) {
    return { endpoint: endpoint.name, error: error instanceof Error ? error.message : String(error) };
  }
}

/** A read through quorum, as etcdctl does it; a learner can only be asked for what it has. */
async function healthOf(client: EtcdClient, endpoint: Endpoint, io: CliIo): Promise<EndpointHealth> {
  const from = io.clock.monotonic();
  const tookMs = () => io.clock.monotonic() - from;
  try {
    const serializable = endpoint.learner === true;
    await client.kv.range("health", { endpoint, serializable, signal: io.signal });
    return { endpoint: endpoint.name, healthy: true, tookMs: tookMs() };
  } catch (error) {
    // Without the right to read this key, the member still answered through quorum.
    const denied = isEtcdError(error) && error.kind === "permission-denied";
    const message = error instanceof Error ? error.message : String(error);
    return { endpoint: endpoint.name, healthy: denied, tookMs: tookMs(), ...(!denied && { error: message }) };
  }
}

function rangeOf(
  key: string,
  end: string | undefined,
  values: EtcdctlCall["values"],
): { readonly key: string | Uint8Array; readonly options: RangeOptions } {
  const { prefix, "from-key": fromKey, consistency } = values;
  if ([prefix === true, fromKey === true, end !== undefined].filter(Boolean).length > 1)
    throw new UsageError("--prefix, --from-key and range_end exclude each other: use one of them");
  if (consistency !== undefined && consistency !== "l" && consistency !== "s")
    throw new UsageError("--consistency must be l (linearizable) or s (serializable)");
  const zero = new Uint8Array(1);
  const limit = count("limit", values);
  const revision = count("rev", values);
  return {
    // Every key, in etcd's way.
    key: key === "" && fromKey === true ? zero : key,
    options: {
      ...(prefix === true && { prefix }),
      ...(fromKey === true && { rangeEnd: zero }),
      ...(end !== undefined && { rangeEnd: end }),
      ...(limit !== undefined && { limit }),
      ...(revision !== undefined && { revision: BigInt(revision) }),
      ...(values["keys-only"] === true && { keysOnly: true }),
      ...(values["count-only"] === true && { countOnly: true }),
      ...(consistency === "s" && { serializable: true }),
    },
  };
}

function count(name: string, values: EtcdctlCall["values"]): number | undefined {
  const text = values[name];
  if (text === undefined) return undefined;
  if (typeof text === "string" && /^\d{1,15}$/.test(text)) return Number(text);
  throw new UsageError(`--${name} ${String(text)}: must be a whole number`);
}

/** `name:password`, or the password from the environment, where no other user of the machine sees it. */
function userOf(given: string | undefined, io: CliIo): EtcdUser | undefined {
  if (given === undefined || given === "") return undefined;
  const [user = "", ...rest] = given.split(":");
  const password = rest.length > 0 ? rest.join(":") : io.env["ETCDCTL_PASSWORD"];
  if (password === undefined)
    throw new UsageError(`--user ${user}: give the password as ${user}:<password>, or in ETCDCTL_PASSWORD`);
  return { user, password };
}
