/** The logs of member Pods. The kubelet keeps them and gives each line its time. */
import type { KubeClient } from "../../kube/client.ts";
import type { Http2Transport } from "../../kube/transport.ts";
import type { KubeRequest } from "../../seams/kube-transport.ts";
import { errorFromFailure, errorFromResponse, isReason } from "../../kube/errors.ts";
import { pathOf, pods } from "../../kube/resources.ts";
import { ETCD_CONTAINER } from "../../operator/names.ts";
import { sleep, type Clock } from "../../seams/clock.ts";
import { CommandError, EXIT } from "../exit.ts";
import { asTheyCome, inOrder } from "./merge.ts";
import { newcomers, type Looking } from "./newcomers.ts";
import type { LogLine, LogWishes } from "./target.ts";

/** What the API server answers where it could not ask the kubelet. */
const OF_KUBELET = ["Internal", "Unavailable", "ServerTimeout"] as const;

/** What passes by itself where the API server has answered before. */
const PASSING = ["Unreachable", "Interrupted", "TooManyRequests"] as const;
/** A container that ended is started again within seconds. */
const OPEN_AGAIN_MS = 1_000;

export interface PodLogs {
  readonly transport: Pick<Http2Transport, "lines">;
  readonly namespace: string;
  readonly clock: Clock;
  /** The container of a member that runs now; the same for all where that cannot be read; undefined while there is none. */
  readonly containerOf: (member: string, signal: AbortSignal) => Promise<string | undefined>;
  /** Turns what a call failed with into what a person should do. */
  readonly explain: (error: unknown) => Error;
}

/** Of people who may read logs but no Pods, only times tell containers apart. */
const UNKNOWN_CONTAINER = "unknown";

export function containersOf(client: KubeClient, namespace: string): PodLogs["containerOf"] {
  return async (name, signal) => {
    try {
      const pod = await client.find(pods, { namespace, name }, { signal });
      const found = pod?.status?.containerStatuses?.find((one) => one.name === ETCD_CONTAINER);
      return found?.containerID;
    } catch (error) {
      if (isReason(error, "Forbidden")) return UNKNOWN_CONTAINER;
      throw error;
    }
  };
}

export async function* podLogs(
  about: PodLogs,
  wishes: LogWishes,
  signal: AbortSignal,
): AsyncGenerator<LogLine> {
  const { members, follow, membersNow } = wishes;
  if (follow)
    return yield* asTheyCome(
      members.map((member) => following(about, wishes, member, signal)),
      membersNow && joining(about, wishes, { known: members, membersNow, clock: about.clock, signal }),
    );
  const unread: string[] = [];
  const all = await Promise.all(
    members.map(async (member) => {
      const lines: LogLine[] = [];
      try {
        for await (const { line } of opened(about, firstRequest(about, wishes, member), member, signal))
          lines.push(line);
      } catch (error) {
        if (signal.aborted) return lines;
        const why = whyNoLog(error, wishes);
        if (why === undefined) throw about.explain(error);
        if (isOfKubelet(error)) unread.push(member);
        lines.push(noLog(member, why));
      }
      return lines;
    }),
  );
  yield* inOrder(all);
  const missing = members.filter((member) => unread.includes(member));
  if (missing.length > 0)
    throw new CommandError(
      EXIT.failed,
      `could not read the logs of ${missing.join(", ")} from the kubelet. Check the nodes (kubectl get nodes, kubectl get pods -n ${about.namespace} -o wide)`,
    );
}

/** All of the log of a member that joined later is new; and others have answered before. */
async function* joining(
  about: PodLogs,
  wishes: LogWishes,
  looking: Looking,
): AsyncGenerator<AsyncGenerator<LogLine>> {
  for await (const member of newcomers(looking))
    yield following(about, wishes, member, looking.signal, { isNewcomer: true });
}

/**
 * The log of a container ends with it, and a connection when it is lost: the next container is shown from its beginning,
 * the same one from the last line on.
 */
async function* following(
  about: PodLogs,
  wishes: LogWishes,
  member: string,
  signal: AbortSignal,
  { isNewcomer = false } = {},
): AsyncGenerator<LogLine> {
  const { clock, containerOf, explain } = about;
  const first = firstRequest(about, wishes, member);
  let shown = new ShownLines();
  let container: string | undefined;
  let said: string | undefined;
  for (let isFirst = !isNewcomer; !signal.aborted;) {
    try {
      const now = await containerOf(member, signal);
      if (isFirst) container ??= now;
      const isSame = now !== undefined && now === container;
      const request =
        isFirst && isSame ? first : requestFor(about, member, { follow: "true", ...(isSame && shown.since) });
      const last = isSame ? shown : new ShownLines();
      let isChecked = false;
      for await (const { line, stamp } of opened(about, request, member, signal)) {
        // Between the two calls another container may have begun, whose lines are not to be taken for those of this one.
        if (!isChecked && (await containerOf(member, signal)) !== now) break;
        if (!isChecked) [isChecked, isFirst, said, container, shown] = [true, false, undefined, now, last];
        if (shown.isNew(stamp)) yield line;
      }
    } catch (error) {
      if (signal.aborted) return;
      const why = whyNoLog(error, wishes) ?? whyNoAnswer(error);
      // Where not even the container could be read, nothing has answered yet.
      const isFirstAnswer = container === undefined && !isNewcomer;
      if (why === undefined || (isFirstAnswer && isReason(error, ...PASSING))) throw explain(error);
      if (why !== "" && why !== said) yield noLog(member, why);
      said = why === "" ? said : why;
      if (isReason(error, "NotFound") && (await hasLeft(wishes, member))) return;
      // Whatever begins now is new.
      if (isReason(error, "NotFound", "BadRequest")) isFirst = false;
    }
    await sleep(clock, OPEN_AGAIN_MS, signal).catch(() => undefined);
  }
}

/** Whether it is known that no Pod of it will come any more. */
async function hasLeft({ membersNow }: LogWishes, member: string): Promise<boolean> {
  const now = await membersNow?.().catch(() => undefined);
  return now !== undefined && !now.includes(member);
}

/**
 * What was shown of a container. The kubelet is asked by the second, so that it sends lines once more; several may have
 * the same time.
 */
class ShownLines {
  #last: string | undefined;
  #withLast = 0;
  /** Lines of that time that were sent again. */
  #again = 0;

  /** For the next request. */
  get since(): { readonly sinceTime: string } | undefined {
    this.#again = 0;
    if (this.#last === undefined) return undefined;
    return { sinceTime: new Date(Number(this.#last.slice(0, -9)) * 1_000).toISOString() };
  }

  isNew(stamp: string | undefined): boolean {
    if (stamp === undefined) return true;
    if (this.#last !== undefined && stamp < this.#last) return false;
    if (stamp === this.#last && this.#again < this.#withLast) {
      this.#again++;
      return false;
    }
    this.#withLast = stamp === this.#last ? this.#withLast + 1 : 1;
    this.#again = this.#withLast;
    this.#last = stamp;
    return true;
  }
}

function firstRequest(about: PodLogs, wishes: LogWishes, member: string): KubeRequest {
  const { sinceMs, lines, follow, previous } = wishes;
  return requestFor(about, member, {
    ...(follow && { follow: "true" }),
    ...(previous && { previous: "true" }),
    ...(sinceMs !== undefined && { sinceTime: new Date(about.clock.now() - sinceMs).toISOString() }),
    ...(lines !== undefined && { tailLines: String(lines) }),
  });
}

function requestFor(
  { namespace }: PodLogs,
  member: string,
  query: Readonly<Record<string, string>>,
): KubeRequest {
  return {
    method: "GET",
    path: `${pathOf(pods, { namespace, name: member })}/log`,
    accept: "*/*",
    query: { container: ETCD_CONTAINER, timestamps: "true", ...query },
  };
}

interface OpenedLine {
  readonly line: LogLine;
  /** The kubelet's time of it, which can be compared as text. */
  readonly stamp: string | undefined;
}

/** Throws a KubeError. */
async function* opened(
  { transport }: PodLogs,
  request: KubeRequest,
  member: string,
  signal: AbortSignal,
): AsyncGenerator<OpenedLine> {
  const what = `GET ${request.path}`;
  try {
    const answer = await transport.lines(request, { signal });
    if (!answer.ok) throw errorFromResponse(what, answer.response);
    for await (const line of answer.lines) yield timed(member, line);
  } catch (error) {
    throw errorFromFailure(what, error);
  }
}

/**
 * A member without a Pod, or whose container has not started, has no log: that is said in its place. So is a kubelet that
 * does not answer: the logs of the other members say why.
 */
function whyNoLog(error: unknown, { previous }: LogWishes): string | undefined {
  if (isOfKubelet(error)) return "the kubelet of its node does not answer the API server";
  if (isReason(error, "NotFound")) return "it has no Pod";
  if (!isReason(error, "BadRequest")) return undefined;
  return previous ? "its container has not been restarted" : "its container has not started";
}

/** Empty for a connection that was lost: the next try tells. */
function whyNoAnswer(error: unknown): string | undefined {
  if (isReason(error, "Interrupted")) return "";
  return isReason(error, ...PASSING) ? "the API server does not answer" : undefined;
}

function isOfKubelet(error: unknown): boolean {
  return isReason(error, ...OF_KUBELET) && error.status !== undefined;
}

function noLog(member: string, why: string): LogLine {
  return { member, at: undefined, text: `no log: ${why}` };
}

/** `2026-05-01T12:00:01.123456789Z {"level":…}`. */
function timed(member: string, line: string): OpenedLine {
  const space = line.indexOf(" ");
  const time = line.slice(0, Math.max(0, space));
  const at = Date.parse(time);
  if (Number.isNaN(at)) return { line: { member, at: undefined, text: line }, stamp: undefined };
  // Milliseconds are too coarse: one of etcd's calls writes several lines.
  const [, nanos = ""] = /\.(\d+)/.exec(time) ?? [];
  const stamp = `${String(Math.floor(at / 1_000)).padStart(11, "0")}${nanos.padEnd(9, "0").slice(0, 9)}`;
  return { line: { member, at, text: line.slice(space + 1) }, stamp };
}
