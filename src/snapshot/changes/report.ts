/**
 * How far a follower is, as it tells whoever watches over it: a line of JSON in a file or as the answer to a request.
 * Neither needs access to the store, and the follower none to Kubernetes.
 */
import type { FollowReport } from "../../core/snapshots/follower-facts.ts";
import { jsonObject } from "../json-object.ts";
import type { FollowEvent } from "./follow.ts";

const FIRST: FollowReport = { state: "starting" };
/** Of an error that is tried again. */
const LONGEST = 500;

export function reportAfter(before: FollowReport | undefined, event: FollowEvent): FollowReport {
  const { needs: _needs, problem: _problem, ...rest } = before ?? FIRST;
  switch (event.kind) {
    case "start": {
      const { clusterId, after, notBefore } = event.start;
      const time = new Date(notBefore).toISOString();
      return { ...rest, state: "following", clusterID: clusterId, revision: after, time };
    }
    case "segment":
      return { ...rest, state: "following" };
    case "complete":
      return { ...rest, state: "following", revision: event.revision, time: event.time };
    case "base":
      return { ...rest, state: "awaits-base", needs: event.reason };
    case "retry":
      return { ...(before ?? FIRST), problem: event.error.message.slice(0, LONGEST) };
  }
}

export function parseReport(text: string | undefined): FollowReport | undefined {
  const value = jsonObject(text);
  const { state, needs, clusterID, revision, time, problem } = value ?? {};
  const isText = (one: unknown) => one === undefined || (typeof one === "string" && one.length <= LONGEST);
  const isRight =
    STATES.some((one) => one === state) &&
    (needs === undefined || NEEDS.some((one) => one === needs)) &&
    [clusterID, time, problem].every(isText) &&
    (time === undefined || !Number.isNaN(Date.parse(time as string))) &&
    (revision === undefined || (Number.isSafeInteger(revision) && (revision as number) >= 0));
  return isRight ? (value as unknown as FollowReport) : undefined;
}

const STATES: readonly FollowReport["state"][] = ["starting", "following", "awaits-base"];
const NEEDS: readonly FollowReport["needs"][] = ["none", "auth", "compacted", "gap", "damaged"];
