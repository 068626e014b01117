/** Messages of a change of TLS on a running cluster. */
import type { Way } from "../template/client-ways.ts";
import type { Plane } from "../facts/authority-facts.ts";
import type { PeerPhase } from "../template/peer-plane.ts";
import { givenBy, onKubernetes, type Approvable } from "./approvals.ts";
import { FOREIGN_EXAMPLE, labelOf, type ListedMember } from "./foreign.ts";
import { step, wait, type Names } from "./message.ts";
import { dateTime, list } from "./words.ts";

const WORDS: Readonly<Record<Way, string>> = {
  plaintext: "in plaintext",
  anonymous: "without a certificate",
  certificate: "with a certificate",
};

interface Ways {
  readonly ways: readonly Way[];
}

/** How clients come, as a part of a sentence. */
function come({ ways }: Ways): string {
  return list(ways.map((way) => WORDS[way]));
}

const UNDO = "To keep serving them, undo the change of spec.tls.";

const PHASES: Readonly<Record<PeerPhase, string>> = {
  certificates: "with certificates for dialing peers; all members listen for peers in plaintext until then",
  https:
    "to listen for peers with TLS instead of in plaintext; members reach each other in both ways until then",
  http: "to listen for peers in plaintext instead of with TLS; members reach each other in both ways until then",
  plaintext: "without certificates for peers; all members listen for peers in plaintext already",
};

/** Why a member cannot be given another peer URL now. */
export type Unmoved = "unjoined" | "learner" | "quorum";

const UNMOVED: Readonly<Record<Unmoved, string>> = {
  unjoined: "which is possible only after it has joined",
  learner: "and some etcd versions make a learner a voter when its URL changes",
  quorum: "which needs a quorum",
};

export const TRANSITIONS = {
  PeersChanging: wait("ChangingTLS", {
    say: ({ members, phase }: { members: Names; phase: PeerPhase }) =>
      `changing TLS of peers: ${list(members)} must restart ${PHASES[phase]}`,
    example: { members: ["demo-1", "demo-2"], phase: "certificates" },
  }),
  CertificatesAwaited: wait("ChangingTLS", {
    say: ({ plane }: { plane: Plane }) =>
      `changing TLS of ${plane}s: members restart with certificates when the source in spec.tls has one for every member; the condition TLSReady says what is missing`,
    example: { plane: "peer" },
  }),
  PeersAwaitForeign: wait("ChangingTLS", {
    say: ({ members, approval }: { members: readonly ListedMember[]; approval: Approvable }) =>
      `changing TLS of peers: etcd lists ${list(members.map(labelOf))}, which this cluster did not add and which would be cut off when members listen with TLS; that waits for approval ${approval.word}`,
    next: ({ approval }) =>
      `Remove what does not belong here with etcdctl member remove, or ${givenBy(approval)}.`,
    approval: ({ approval }) => approval,
    example: { members: [FOREIGN_EXAMPLE], approval: onKubernetes("1f0c2a9b") },
  }),
  PeerURLUpdated: step({
    say: ({ member, peerURL }: { member: string; peerURL: string }) =>
      `${member} is to listen for peers as ${peerURL}: etcd's member list gets this URL before it restarts`,
    example: { member: "demo-3", peerURL: "https://demo-3-peer.default.svc:2380" },
  }),
  MendMovesPeer: wait("ChangingTLS", {
    say: ({ member, because }: { member: string; because: Unmoved }) =>
      `${member} is unhealthy and cannot be given the new spec: that would change its peer URL, ${UNMOVED[because]}`,
    next: () =>
      "Undo the change of the mode of peers in spec.tls, and repeat it when all members are healthy.",
    example: { member: "demo-2", because: "quorum" },
  }),
  LearnerMoves: step({
    say: ({ member }: { member: string }) =>
      `${member} is replaced by a new learner: the change of TLS gives it another peer URL, and some etcd versions make a learner a voter when its URL changes`,
    example: { member: "demo-4" },
  }),
  WaysOpening: wait("ChangingTLS", {
    say: ({ members, ways }: Ways & { members: Names }) =>
      `changing TLS: ${list(members)} must restart to serve clients ${come({ ways })} too`,
    example: { members: ["demo-1", "demo-2"], ways: ["certificate"] },
  }),
  WaysClosing: wait("ChangingTLS", {
    say: ({ members, ways }: Ways & { members: Names }) =>
      `changing TLS: ${list(members)} must restart to stop serving clients ${come({ ways })}`,
    example: { members: ["demo-1", "demo-2"], ways: ["anonymous"] },
  }),
  ClosingAwaitsApproval: wait("ChangingTLS", {
    say: ({ ways, approval }: Ways & { approval: Approvable }) =>
      `changing TLS: members still serve clients ${come({ ways })}, and etcd does not report whether any are left; ending that waits for approval ${approval.word}`,
    next: ({ approval }) => `When all clients have changed, ${givenBy(approval)}. ${UNDO}`,
    approval: ({ approval }) => approval,
    example: { ways: ["anonymous"], approval: onKubernetes("1f0c2a9b") },
  }),
  ClosingAwaitsTime: wait("ChangingTLS", {
    say: ({ ways, until }: Ways & { until: number }) =>
      `changing TLS: members serve clients ${come({ ways })} until ${dateTime(until)} (spec.tls.transition.after)`,
    volatile: ["until"],
    example: { ways: ["anonymous"], until: Date.UTC(2026, 0, 2, 2, 30) },
  }),
  ChangeAwaitsNoAuth: wait("ChangingTLS", {
    say: ({ begun }: { begun: boolean }) =>
      `changing TLS: etcd has auth enabled, under which it takes the names of users from certificates, so ${begun ? "every member" : "TLS of clients"} stays as it is`,
    next: ({ begun }) => `Set spec.auth.enabled to false${begun ? "" : ", or undo the change of spec.tls"}.`,
    example: { begun: false },
  }),
  ChangeAwaitsAuthRead: wait("ChangingTLS", {
    say: () =>
      "changing TLS: it could not be read from etcd whether auth is enabled, under which TLS of clients stays as it is",
    example: {},
  }),
  AuthAwaitsTLS: wait("AuthPending", {
    say: () => "auth is enabled after the change of spec.tls has reached all members",
    example: {},
  }),
} as const;
