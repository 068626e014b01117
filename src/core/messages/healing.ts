/** Messages of members that are down, out of reach, restarted or replaced, and of a quorum that is not there. */
import type { NotMade } from "../facts/workload-facts.ts";
import {
  evidenceOf,
  howToAccept,
  howToRecover,
  onKubernetes,
  type Loss,
  type Recovery,
} from "./approvals.ts";
import { CAUSES } from "./causes.ts";
import { step, wait, type Names } from "./message.ts";
import { howToHelp, saySilent, sayUnread, type SilentNodes, type Unread } from "./reading.ts";
import { sayTrouble, type Trouble } from "./trouble.ts";
import {
  howToApprove,
  sayUnreachable,
  UNREACHABLE_EXAMPLE,
  whereToLook,
  type Approval,
  type Unreachable,
} from "./unreachable.ts";
import { clockMinute, clockTime, list, plural } from "./words.ts";

interface Broken {
  readonly member: string;
  /** What is wrong with it, one of CAUSES. */
  readonly cause: string;
}

interface LostQuorum {
  readonly gone: Names;
  readonly left: number;
  readonly needed: number;
  readonly loss?: Loss | undefined;
  /** Nobody can look into their volumes. */
  readonly away?: Names;
  /** The plan that a person can approve. */
  readonly recovery?: Recovery;
  /** What the plan waits for, or does without. */
  readonly unread?: readonly Unread[];
  readonly silent?: SilentNodes;
}

interface AwaitedQuorum {
  readonly healthy: number;
  readonly size: number;
  readonly needed: number;
  readonly coming: Names;
}

interface Unmade {
  readonly member: string;
  readonly why: string;
}

const BROKEN: Broken = { member: "demo-2", cause: CAUSES.volumeGone };
const TROUBLE: Trouble = { kind: "not-running" };
const WHY_UNMADE: Readonly<Record<NotMade["reason"], string>> = {
  PodRefused: "the Pod of demo-2: exceeded quota: pods",
  ObjectRefused: "the Secret demo-2: admission webhook denied the request",
  AuthorityMissing: "the Secret demo-ca does not exist",
  CertificateNotIssued: "the operator's clock is 2 h ahead",
  CertificateNotGiven: "spec.tls.client.secrets.server: Secret default/demo-server does not exist",
  NameClash: "the Secret demo-2 belongs to something else",
};
const LOSS: Loss = {
  evidence: ["demo-1: it is at revision 5, and 48211 was seen before"],
  approval: onKubernetes("accept-data-48211"),
};
const RESTART: Approval = {
  what: "restart",
  member: "demo-3",
  after: "30s",
  given: onKubernetes("restart-demo-3"),
};
const REPLACE: Approval = {
  what: "replace",
  member: "demo-3",
  after: "5m",
  given: onKubernetes("replace-demo-3"),
};

const NO_SILENCE: SilentNodes = { nodes: [], isLocal: false };

function sayAwaited({ healthy, size, needed, coming }: AwaitedQuorum): string {
  return `${healthy} of ${size} voters healthy, ${needed} needed; waiting for ${list(coming)}`;
}

const RETRIED =
  "(quota, admission webhook or policy, RBAC); the operator retries, and the member returns with its data.";
/** What a person can do about what keeps a workload from being made. */
const WHAT_TO_DO: Readonly<Record<NotMade["reason"], string>> = {
  PodRefused: `Check what rejects the Pod ${RETRIED}`,
  ObjectRefused: `Check what rejects the object ${RETRIED}`,
  AuthorityMissing: "Restore the Secret of the certificate authority from a backup.",
  CertificateNotIssued:
    "Correct the clock of the operator's node (NTP); certificates are then issued without further action.",
  CertificateNotGiven:
    "Correct the Secret or the issuer that spec.tls names; the operator checks it again within seconds; nothing else is needed.",
  NameClash: "Rename or delete the other object.",
};

function unmade(reason: NotMade["reason"]) {
  return wait(reason, {
    say: ({ member, why }: Unmade) => `${member} cannot be started: ${why}. Its data is kept`,
    next: () => WHAT_TO_DO[reason],
    example: { member: "demo-2", why: WHY_UNMADE[reason] },
  });
}

/** `member` is who could not be started; undefined where the platform says it of everybody. */
function blocked(reason: NotMade["reason"]) {
  return wait(reason, {
    say: ({ member, why }: { member?: string; why: string }) =>
      `not adding a member, because it could not be started: ${member === undefined ? "" : `${member} cannot be started: `}${why}`,
    next: () => WHAT_TO_DO[reason],
    example: { member: "demo-2", why: WHY_UNMADE[reason] },
  });
}

export const HEALING = {
  MemberReplaced: step({
    say: ({ member, cause }: Broken) => `replacing ${member}: ${cause}`,
    example: BROKEN,
  }),
  MemberDown: wait("MemberUnhealthy", {
    say: ({ member, trouble, at }: { member: string; trouble: Trouble; at: number }) =>
      `${member} is down (${sayTrouble(trouble)}); it will be replaced at ${clockTime(at)} unless it recovers`,
    volatile: ["at"],
    example: { member: "demo-2", trouble: TROUBLE, at: Date.UTC(2026, 0, 1, 12, 5, 10) },
  }),
  ServesWhileEnding: wait("MemberUnhealthy", {
    say: ({ member, node }: { member: string; node?: string }) =>
      `the Pod of ${member} should have ended${node === undefined ? "" : `, and its node ${node} does not report`}, but etcd still serves in it; ${member} is not replaced while it serves`,
    next: () =>
      "Check whether the kubelet of its node reaches the API server. Once it does, the Pod ends and the member restarts with its data; if the node is off for good, the member is replaced.",
    example: { member: "demo-2", node: "node-2" },
  }),
  StorageLost: wait("StorageLost", {
    say: ({ member, cause, at }: Broken & { at: number }) =>
      `${member} is down (${cause}); it will be replaced at ${clockTime(at)} unless it recovers`,
    volatile: ["at"],
    next: () =>
      "Bring its node or disk back; otherwise a new member replaces it, and its copy of the data is given up.",
    example: {
      member: "demo-2",
      cause: CAUSES.volumeUnreachable("node-2 is not ready"),
      at: Date.UTC(2026, 0, 1, 12, 5, 10),
    },
  }),
  FirstStart: wait("MemberStarting", {
    say: ({ member, trouble }: { member: string; trouble: Trouble }) =>
      `waiting for ${member} to start for the first time (${sayTrouble(trouble)})`,
    example: { member: "demo-4", trouble: { kind: "not-serving", error: "connect ECONNREFUSED" } },
  }),
  TemplateKept: wait("TargetFailed", {
    say: ({ member, trouble }: { member: string; trouble: Trouble }) =>
      `${member} cannot run its new template (${sayTrouble(trouble)}); it is not replaced and keeps its data`,
    next: () => TAKE_BACK,
    example: { member: "demo-3", trouble: { kind: "waiting", why: "ErrImagePull" } },
  }),
  ReplacementAwaitsQuorum: wait("RemovalUnsafe", {
    say: ({ member, cause }: Broken) => `${member} cannot be replaced without quorum (${cause})`,
    example: BROKEN,
  }),
  ReplacementAwaitsVoters: wait("RemovalUnsafe", {
    say: ({ member, cause }: Broken) =>
      `${member} is not replaced yet (${cause}): removing it now would cost the quorum`,
    example: BROKEN,
  }),
  ReplacementLimit: wait("ReplacementBudget", {
    say: ({ member, cause, limit, at }: Broken & { limit: number; at: number }) =>
      limit === 0
        ? `${member} is not replaced (${cause}): spec.repair.maxReplacementsPerHour is 0`
        : `${member} is not replaced yet (${cause}): replacement limit reached (${limit} in the last hour); the next replacement is allowed at ${clockMinute(at)}`,
    next: () => "Find out why members fail; raise spec.repair.maxReplacementsPerHour to continue at once.",
    volatile: ["at"],
    example: { ...BROKEN, limit: 4, at: Date.UTC(2026, 0, 1, 13, 10) },
  }),

  MemberUnreachable: wait("MemberUnreachable", {
    say: ({ unreachable }: { unreachable: Unreachable; approval: Approval }) =>
      `${sayUnreachable(unreachable)}; it is neither replaced nor restarted`,
    next: ({ unreachable, approval }) =>
      `${whereToLook(unreachable)}. To replace it anyway, ${howToApprove(approval)}.`,
    approval: ({ approval }) => approval.given,
    example: { unreachable: UNREACHABLE_EXAMPLE, approval: REPLACE },
  }),
  ApprovedReplacementWaits: wait("MemberUnreachable", {
    say: ({ unreachable }: { unreachable: Unreachable; approval: Approval }) =>
      `${sayUnreachable(unreachable)}; it is neither replaced nor restarted`,
    next: ({ unreachable, approval }) =>
      `${whereToLook(unreachable)}. Its replacement is approved and begins once it has been unreachable for ${approval.after}.`,
    example: { unreachable: UNREACHABLE_EXAMPLE, approval: REPLACE },
  }),
  QuorumHidden: wait("EtcdUnreachable", {
    say: ({ unreachable }: { unreachable: Unreachable; approval: Approval }) =>
      `${sayUnreachable(unreachable)}; nothing is changed until it can be reached`,
    next: ({ unreachable, approval }) =>
      `${whereToLook(unreachable)}. To restart a member with the current spec anyway, such as ${approval.member}, ${howToApprove(approval)}.`,
    approval: ({ approval }) => approval.given,
    example: { unreachable: UNREACHABLE_EXAMPLE, approval: RESTART },
  }),
  AllDataGone: wait("DataGone", {
    say: ({ size, gone, loss }: { size: number; gone: Names; loss?: Loss | undefined }) =>
      `not bootstrapping an empty cluster: ${size === 1 ? "the only voter lost its" : `all ${size} voters lost their`} data (${list(gone)}${evidenceOf(loss)})`,
    next: ({ loss }) =>
      `Restore a snapshot into this cluster, or delete it and create it again.${howToAccept(loss)}`,
    approval: ({ loss }) => loss?.approval,
    example: { size: 1, gone: ["demo-1"], loss: LOSS },
  }),
  QuorumAwaited: wait("Waking", {
    say: sayAwaited,
    example: { healthy: 1, size: 3, needed: 2, coming: ["demo-2", "demo-3"] },
  }),
  QuorumHindered: wait("Waking", {
    say: ({
      unread,
      silent,
      ...awaited
    }: AwaitedQuorum & {
      unread: readonly Unread[];
      silent: SilentNodes;
      recovery?: Recovery | undefined;
    }) => `${sayAwaited(awaited)}${saySilent(silent)}${sayUnread(unread)}`,
    next: ({ unread, silent, recovery }) =>
      [howToHelp(unread, silent), ...(recovery ? [howToRecover(recovery)] : [])].filter(Boolean).join(" "),
    volatile: ["unread"],
    example: {
      healthy: 1,
      size: 3,
      needed: 2,
      coming: ["demo-2", "demo-3"],
      unread: [],
      silent: { nodes: ["node-b", "node-c"], isLocal: false },
    },
  }),
  QuorumLost: wait("QuorumLost", {
    say: ({ gone, away = [], left, needed, unread = [], silent = NO_SILENCE }: LostQuorum) => {
      const why = [
        ...(gone.length > 0 ? [`${list(gone)} lost ${plural(gone, "its", "their")} data`] : []),
        ...(away.length > 0
          ? [`the ${plural(away, "volume", "volumes")} of ${list(away)} cannot be reached`]
          : []),
      ];
      return `quorum is permanently lost: ${why.join(", ")}, and only ${left} of the ${needed} voters needed can return${saySilent(silent)}${sayUnread(unread)}`;
    },
    next: ({ loss, recovery, unread = [], silent = NO_SILENCE }) =>
      [howToHelp(unread, silent), `${howToRecover(recovery)}${howToAccept(loss)}`].filter(Boolean).join(" "),
    approval: ({ loss }) => loss?.approval,
    volatile: ["unread"],
    example: { gone: ["demo-1", "demo-2"], left: 1, needed: 2 },
  }),

  WorkloadEnded: step({
    say: ({ member, detail }: { member: string; detail: string }) =>
      `recreating ${member}, which has ended: ${detail}`,
    example: { member: "demo-2", detail: "Evicted: the node was low on memory" },
  }),
  WorkloadBackOff: wait("PodBackOff", {
    say: ({
      member,
      times,
      detail,
      seconds,
    }: {
      member: string;
      times: number;
      detail: string;
      seconds: number;
    }) =>
      `the Pod of ${member} ended ${times} times (${detail}); the next one is created ${seconds} s after the last one ended`,
    next: () => "Relieve the node that ends the Pod, or let the member run on another node.",
    example: { member: "demo-2", times: 4, detail: "Evicted: the node was low on memory", seconds: 40 },
  }),
  OutdatedStopping: wait("Stopping", {
    say: ({ member }: { member: string }) => `waiting for ${member} to stop`,
    example: { member: "demo-2" },
  }),
  Resizing: wait("Resizing", {
    say: ({ member }: { member: string }) => `${member} gets its new resources without a restart`,
    example: { member: "demo-2" },
  }),
  RestartLosesData: step({
    say: ({ member, cause }: Broken) => `replacing ${member} by a new member: ${cause}`,
    example: { member: "demo-2", cause: CAUSES.restartLosesData },
  }),
  MemberRestarted: step({
    say: ({ member }: { member: string }) => `restarting ${member} with its recorded template`,
    example: { member: "demo-2" },
  }),
  LeaderRestarting: step({
    say: ({ member }: { member: string }) => `${member} leads and is about to restart`,
    example: { member: "demo-1" },
  }),
  RestartAwaitsVoters: wait("MemberUnhealthy", {
    say: ({ member }: { member: string }) => `${member} restarts once enough of the other voters are healthy`,
    example: { member: "demo-2" },
  }),
  RestartUnseen: wait("MemberUnreachable", {
    say: ({ unreachable, approval }: { unreachable: Unreachable; approval: Approval }) =>
      `not restarting ${approval.member}: ${sayUnreachable(unreachable)}`,
    next: ({ approval }) => `To restart it anyway, ${howToApprove(approval)}.`,
    approval: ({ approval }) => approval.given,
    example: { unreachable: UNREACHABLE_EXAMPLE, approval: RESTART },
  }),
  ApprovedRestartWaits: wait("MemberUnreachable", {
    say: ({ member, unreachable }: { member: string; unreachable: Unreachable }) =>
      `not restarting ${member}: ${sayUnreachable(unreachable)}`,
    example: { member: "demo-3", unreachable: UNREACHABLE_EXAMPLE },
  }),
  RestartAwaitsFirst: wait("MemberStarting", {
    say: ({ approval, first }: { approval: Approval; first: string }) =>
      `${approval.member} restarts once ${first} is healthy with the same template`,
    next: ({ approval }) => `To restart it anyway, ${howToApprove(approval)}.`,
    approval: ({ approval }) => approval.given,
    example: { approval: RESTART, first: "demo-1" },
  }),

  StartAwaitsVolume: wait("VolumePending", {
    say: ({ member, why }: Unmade) =>
      `${member} cannot be started before its volume is ready: ${why}. Its data is kept`,
    example: { member: "demo-2", why: "its claim is not bound" },
  }),
  StartAwaited: wait("MemberStarting", {
    say: ({ member }: { member: string }) => `waiting for ${member} to be started again`,
    example: { member: "demo-2" },
  }),
  StartPodRefused: unmade("PodRefused"),
  StartObjectRefused: unmade("ObjectRefused"),
  StartAuthorityMissing: unmade("AuthorityMissing"),
  StartCertificateNotIssued: unmade("CertificateNotIssued"),
  StartCertificateNotGiven: unmade("CertificateNotGiven"),
  StartNameClash: unmade("NameClash"),
  JoinPodRefused: blocked("PodRefused"),
  JoinObjectRefused: blocked("ObjectRefused"),
  JoinAuthorityMissing: blocked("AuthorityMissing"),
  JoinCertificateNotIssued: blocked("CertificateNotIssued"),
  JoinCertificateNotGiven: blocked("CertificateNotGiven"),
  JoinNameClash: blocked("NameClash"),
} as const;

/** What a person can do about an edit that a member cannot run. */
export const TAKE_BACK = "Revert the edit, or set spec.update.canary to true to have it rolled back.";
