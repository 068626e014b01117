/** The logs of member Pods. The kubelet keeps them and gives each line its time. */
import type { Http2Transport } from "../../kube/transport.ts";
import type { KubeRequest } from "../../seams/kube-transport.ts";
import { errorFromFailure, errorFromResponse, isReason } from "../../kube/errors.ts";
import { pathOf, pods } from "../../kube/resources.ts";
import { ETCD_CONTAINER } from "../../operator/names.ts";
import { asTheyCome, inOrder } from "./merge.ts";
import type { LogLine, LogWishes } from "./target.ts";

export interface PodLogs {
  readonly transport: Pick<Http2Transport, "lines">;
  readonly namespace: string;
  readonly now: number;
  /** Turns what a call failed with into what a person should do. */
  readonly explain: (error: unknown) => Error;
}

export async function* podLogs(
  { transport, namespace, now, explain }: PodLogs,
  wishes: LogWishes,
  signal: AbortSignal,
): AsyncGenerator<LogLine> {
  const open = (member: string) =>
    linesOf(transport, requestFor(namespace, member, wishes, now), member, signal, explain);
  if (wishes.follow) yield* asTheyCome(wishes.members.map(open));
  else {
    const all = await Promise.all(wishes.members.map((member) => collected(open(member))));
    yield* inOrder(all);
  }
}

async function collected(lines: AsyncIterable<LogLine>): Promise<LogLine[]> {
  const all: LogLine[] = [];
  for await (const line of lines) all.push(line);
  return all;
}

function requestFor(namespace: string, member: string, wishes: LogWishes, now: number): KubeRequest {
  const { sinceMs, lines, follow } = wishes;
  return {
    method: "GET",
    path: `${pathOf(pods, { namespace, name: member })}/log`,
    accept: "*/*",
    query: {
      container: ETCD_CONTAINER,
      timestamps: "true",
      ...(follow && { follow: "true" }),
      ...(sinceMs !== undefined && { sinceTime: new Date(now - sinceMs).toISOString() }),
      ...(lines !== undefined && { tailLines: String(lines) }),
    },
  };
}

/** A member without a Pod, or whose container has not started, has no log: that is said in its place. */
async function* linesOf(
  transport: PodLogs["transport"],
  request: KubeRequest,
  member: string,
  signal: AbortSignal,
  explain: PodLogs["explain"],
): AsyncGenerator<LogLine> {
  const what = `GET ${request.path}`;
  try {
    const answer = await transport.lines(request, { signal });
    if (!answer.ok) throw errorFromResponse(what, answer.response);
    for await (const line of answer.lines) yield timed(member, line);
  } catch (error) {
    if (signal.aborted) return;
    const failure = errorFromFailure(what, error);
    if (!isReason(failure, "NotFound", "BadRequest")) throw explain(failure);
    const why = failure.reason === "NotFound" ? "it has no Pod" : "its container has not started";
    yield { member, at: undefined, text: `no log: ${why}` };
  }
}

/** `2026-05-01T12:00:01.123456789Z {"level":…}`. */
function timed(member: string, line: string): LogLine {
  const space = line.indexOf(" ");
  const at = Date.parse(line.slice(0, Math.max(0, space)));
  return Number.isNaN(at)
    ? { member, at: undefined, text: line }
    : { member, at, text: line.slice(space + 1) };
}
