/** What is reported of EtcdUsers and EtcdRoles: whether etcd has them as described, and if not, what has to be corrected. */
import type { AuthObjectStatus } from "../../api/auth-object.ts";
import type { EtcdUserStatus } from "../../api/etcd-user.ts";
import type { Action } from "../action.ts";
import type { AuthReason } from "../messages/auth-reasons.ts";
import { authVerdict } from "../messages/auth-verdicts.ts";
import type { AuthProblem } from "../messages/auth-words.ts";
import { condition, findCondition, no, sentence, timestamp, yes } from "../status/condition.ts";
import type { View } from "../view.ts";
import { authSteps, type AuthStep } from "./diff.ts";
import { certificateOf } from "./certified.ts";
import type { AuthFacts, ObjectKind, RoleFacts, UserFacts } from "./facts.ts";
import { usersOfRole, wantedAuth, type WantedAuth } from "./wanted.ts";

export interface AuthVerdict {
  /** Reconciling: it becomes ready by itself. Stalled: somebody has to correct something. */
  readonly is: "Ready" | "Reconciling" | "Stalled";
  readonly reason: AuthReason;
  readonly message: string;
}

export type AuthWrite = Extract<Action, { kind: "UpdateAuthObject" }>;

type Facts = UserFacts | RoleFacts;

/** What follows from the view for all of them, worked out once. */
interface Around {
  readonly view: View;
  readonly facts: AuthFacts;
  readonly wanted: WantedAuth;
  readonly steps: readonly AuthStep[];
}

export function reportAuth(view: View): readonly AuthWrite[] {
  const { auth: facts, platform } = view.observation;
  if (!facts || platform.fenced || facts.users.length + facts.roles.length === 0) return [];
  const { etcd } = facts;
  const steps = etcd ? authSteps(view, facts, etcd) : [];
  const around = { view, facts, wanted: wantedAuth(view, facts), steps };
  return [
    ...facts.users.flatMap((user) => {
      const verdict = verdictOnUser(around, user);
      return reportOn(view, "EtcdUser", user, verdict, certificateStatus(facts, user));
    }),
    ...facts.roles.flatMap((role) => reportOn(view, "EtcdRole", role, verdictOnRole(around, role))),
  ];
}

function reportOn(
  { now }: View,
  of: ObjectKind,
  facts: Facts,
  verdict: AuthVerdict | undefined,
  certificate?: EtcdUserStatus["certificate"],
): AuthWrite[] {
  const { status, generation, object: name, uid, resourceVersion } = facts;
  if (!verdict) return [];
  const isReported =
    status.reason === verdict.reason &&
    status.message === textOf(verdict) &&
    status.observedGeneration === generation &&
    status.certificate?.secret === certificate?.secret &&
    status.certificate?.expires === certificate?.expires;
  const change = { status: { ...authStatus(facts, verdict, now), ...(certificate && { certificate }) } };
  return isReported ? [] : [{ kind: "UpdateAuthObject", of, name, uid, resourceVersion, change }];
}

function certificateStatus(facts: AuthFacts, user: UserFacts): EtcdUserStatus["certificate"] {
  const { secret, expires } = certificateOf(facts, user) ?? {};
  return secret === undefined || expires === undefined ? undefined : { secret, expires: timestamp(expires) };
}

/** As much of it as its field holds. */
export function textOf({ message }: AuthVerdict): string {
  return sentence(message).slice(0, 1024);
}

export function authStatus(
  { status: before, generation, name }: Pick<Facts, "status" | "generation" | "name">,
  given: AuthVerdict,
  now: number,
): AuthObjectStatus {
  const { is, reason } = given;
  const text = textOf(given);
  const verdict = (type: AuthVerdict["is"]) => (is === type ? yes(reason, text) : no(reason, text));
  const seen = { now, generation };
  return {
    observedGeneration: generation,
    name,
    reason,
    message: text,
    conditions: (["Ready", "Reconciling", "Stalled"] as const).map((type) =>
      condition(type, verdict(type), findCondition(before.conditions, type), seen),
    ),
  };
}

/** What is so for all of a cluster. */
function common(view: View, { etcd }: AuthFacts): AuthVerdict | undefined {
  const { cluster } = view.observation;
  if (cluster.deleting)
    return { is: "Stalled", ...authVerdict("ClusterIsDeleted", { cluster: cluster.name }) };
  if (view.spec.auth?.enabled !== true)
    return { is: "Stalled", ...authVerdict("AuthIsOff", { cluster: cluster.name }) };
  if (etcd === undefined || !view.hasQuorum) return { is: "Reconciling", ...authVerdict("AwaitsQuorum", {}) };
  return undefined;
}

function verdictOnUser(around: Around, of: UserFacts): AuthVerdict | undefined {
  if (of.deleting) return undefined;
  const problem = around.wanted.users.find((user) => user.of === of)?.problem;
  return (
    common(around.view, around.facts) ??
    stalled(problem) ??
    certified(around.facts, of, progress(around, of, "user"))
  );
}

function certified(facts: AuthFacts, of: UserFacts, done: AuthVerdict): AuthVerdict {
  return (done.is === "Ready" ? uncertified(facts, of) : undefined) ?? done;
}

/** Once nothing else is to be done for it. */
function uncertified(facts: AuthFacts, of: UserFacts): AuthVerdict | undefined {
  if (!of.certificate) return undefined;
  const { expires, problem } = certificateOf(facts, of) ?? {};
  if (problem !== undefined)
    return { is: "Reconciling", ...authVerdict("CertificateFails", { why: problem }) };
  return expires === undefined ? { is: "Reconciling", ...authVerdict("CertificateAwaited", {}) } : undefined;
}

function verdictOnRole(around: Around, of: RoleFacts): AuthVerdict | undefined {
  const { view, facts, wanted } = around;
  if (of.deleting) {
    const users = usersOfRole(view, facts, of.name);
    if (!of.applied || users.length === 0) return undefined;
    return { is: "Reconciling", ...authVerdict("RoleInUse", { users }) };
  }
  const problem = wanted.roles.find((role) => role.of === of)?.problem;
  return common(view, facts) ?? stalled(problem) ?? progress(around, of, "role");
}

function stalled(problem: AuthProblem | undefined): AuthVerdict | undefined {
  return problem && { is: "Stalled", ...authVerdict(problem.reason, { problem }) };
}

function progress({ facts, steps }: Around, of: Facts, kind: "user" | "role"): AuthVerdict {
  const about = { kind, name: of.name };
  if (steps.some((step) => step.of === of))
    return { is: "Reconciling", ...authVerdict("BeingApplied", about) };
  return facts.etcd?.enabled
    ? { is: "Ready", ...authVerdict("IsApplied", about) }
    : { is: "Reconciling", ...authVerdict("AwaitsAuth", about) };
}
