/** What is the case with a member, each with its reason. A sentence has no subject: the name of the member goes before it. */
import type { StatusReason } from "./condition-reasons.ts";
import { sayLostNode, type LostNode } from "./trouble.ts";
import { rowsFor, verdictsOf } from "./verdict.ts";

interface Because {
  readonly why: string;
}

const row = rowsFor<StatusReason>();

export const MEMBER_VERDICTS = {
  Leaving: row("Leaving", {
    say: ({ why }: Because) => `is leaving: ${why}`,
    example: { why: "spec.replicas is 1" },
  }),
  Healthy: row("Healthy", {
    say: ({ isVoter, fenced, replaced }: Healthy) =>
      `is a healthy ${isVoter ? "voter" : "learner"}${fenced ? "; fenced: clients are not sent to it" : ""}${replaced
        .map((why) => `; will be replaced: ${why}`)
        .join("")}`,
    example: { isVoter: true, fenced: true, replaced: ["its record was deleted"] },
  }),
  Hibernated: row("Hibernated", { say: () => "is hibernated; its data is retained", example: {} }),
  NotRunning: row("NotRunning", {
    say: ({ why }: { why: string | undefined }) => `is not running${why === undefined ? "" : `: ${why}`}`,
    example: { why: "its claim is not bound" },
  }),
  Waiting: row("Waiting", {
    say: ({ why }: Because) => `cannot start: ${why}`,
    example: { why: "the image cannot be pulled" },
  }),
  Stopping: row("Stopping", {
    say: ({ node }: { node: LostNode | undefined }) =>
      `is stopping${node === undefined ? "" : `: ${sayLostNode(node)}`}`,
    example: { node: { name: "node-2", is: "silent" } },
  }),
  Exited: row("Exited", {
    say: ({ why }: Because) => `exited: ${why}`,
    example: { why: "Evicted: the node was low on memory" },
  }),
  NotServing: row("NotServing", { say: () => "is running but does not serve yet", example: {} }),
  NotAnswering: row("NotAnswering", {
    say: ({ error }: { error: string }) => `does not answer: ${error}`,
    example: { error: "connect ECONNREFUSED" },
  }),
} as const;

interface Healthy {
  readonly isVoter: boolean;
  readonly fenced: boolean | undefined;
  /** Why it is to be replaced although it is healthy. */
  readonly replaced: readonly string[];
}

export const memberVerdict = verdictsOf(MEMBER_VERDICTS);
