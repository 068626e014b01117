/** The logs of member Pods. The kubelet keeps them and gives each line its time. */
import type { Http2Transport } from "../../kube/transport.ts";
import type { KubeRequest } from "../../seams/kube-transport.ts";
import { errorFromFailure, errorFromResponse, isReason } from "../../kube/errors.ts";
import { pathOf, pods } from "../../kube/resources.ts";
import { ETCD_CONTAINER } from "../../operator/names.ts";
import { CommandError, EXIT } from "../exit.ts";
import { asTheyCome, inOrder } from "./merge.ts";
import type { LogLine, LogWishes } from "./target.ts";

/** What the API server answers where it could not ask the kubelet. */
const OF_KUBELET = ["Internal", "Unavailable", "ServerTimeout"] as const;

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
  const unread = new Set<string>();
  const open = (member: string) =>
    linesOf(
      { transport, request: requestFor(namespace, member, wishes, now), member, unread, explain },
      signal,
    );
  if (wishes.follow) yield* asTheyCome(wishes.members.map(open));
  else {
    const all = await Promise.all(wishes.members.map((member) => collected(open(member))));
    yield* inOrder(all);
  }
  const missing = wishes.members.filter((member) => unread.has(member));
  if (missing.length > 0)
    throw new CommandError(
      EXIT.failed,
      `could not read the logs of ${missing.join(", ")} from the kubelet. Check the nodes (kubectl get nodes, kubectl get pods -n ${namespace} -o wide)`,
    );
}

async function collected(lines: AsyncIterable<LogLine>): Promise<LogLine[]> {
  const all: LogLine[] = [];
  for await (const line of lines) all.push(line);
  return all;
}

function requestFor(namespace: string, member: string, wishes: LogWishes, now: number): KubeRequest {
  const { sinceMs, lines, follow, previous } = wishes;
  return {
    method: "GET",
    path: `${pathOf(pods, { namespace, name: member })}/log`,
    accept: "*/*",
    query: {
      container: ETCD_CONTAINER,
      timestamps: "true",
      ...(follow && { follow: "true" }),
      ...(previous && { previous: "true" }),
      ...(sinceMs !== undefined && { sinceTime: new Date(now - sinceMs).toISOString() }),
      ...(lines !== undefined && { tailLines: String(lines) }),
    },
  };
}

interface MemberLog {
  readonly transport: PodLogs["transport"];
  readonly request: KubeRequest;
  readonly member: string;
  /** Members whose kubelet does not answer, added to. */
  readonly unread: Set<string>;
  readonly explain: PodLogs["explain"];
}

/**
 * A member without a Pod, or whose container has not started, has no log: that is said in its place. So is a kubelet that
 * does not answer: the logs of the other members say why.
 */
async function* linesOf(
  { transport, request, member, unread, explain }: MemberLog,
  signal: AbortSignal,
): AsyncGenerator<LogLine> {
  const what = `GET ${request.path}`;
  try {
    const answer = await transport.lines(request, { signal });
    if (!answer.ok) throw errorFromResponse(what, answer.response);
    for await (const line of answer.lines) yield timed(member, line);
  } catch (error) {
    if (signal.aborted) return;
    const failure = errorFromFailure(what, error);
    const isKubelets = failure.status !== undefined && isReason(failure, ...OF_KUBELET);
    if (!isKubelets && !isReason(failure, "NotFound", "BadRequest")) throw explain(failure);
    if (isKubelets) unread.add(member);
    const started = request.query?.["previous"]
      ? "its container has not been restarted"
      : "its container has not started";
    const why = isKubelets
      ? "the kubelet of its node does not answer the API server"
      : failure.reason === "NotFound"
        ? "it has no Pod"
        : started;
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
