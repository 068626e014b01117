/**
 * rotateCertificates: issues the certificates of every member, of the operator and of the users again, which restarts
 * nobody (R45). With `ca`, the CAs of the Managed planes are rotated: each is given its successor here, rule
 * rotate-authorities does the rest, and the CA itself holds which operation asked for it. With `tokenKey`, only the key of
 * auth tokens is replaced: see token-key.ts.
 */
import { modesInUse } from "../config/flags.ts";
import { HOLDS } from "../steps/hold-classes.ts";
import type { AuthorityFacts, OperationFacts, Plane } from "../observation.ts";
import { ending } from "../messages/operation-endings.ts";
import { DONE, TASKS } from "../messages/operation-steps.ts";
import { act, hold } from "../steps/outcome.ts";
import { PLANES } from "../template/effective.ts";
import { namesOf, type MemberView, type View } from "../view.ts";
import { remaining, type Handler, type Progress } from "./handler.ts";
import type { TaskOf } from "./task.ts";
import { prepareKey, replaceKey } from "./token-key.ts";

export const rotateCertificates: Handler<TaskOf<"rotateCertificates">> = {
  prepare(view, task) {
    if (task.tokenKey) return prepareKey(view);
    // The CA of a plane that turns plain is not worth a rotation; certificates are used until it has.
    const planes = managedPlanes(view, task.ca ? [] : view.staying);
    if (planes.length === 0) return { reject: ending("NoneIssued", {}) };
    if (task.ca) return { start: {}, what: TASKS.rotate(planes), class: "roll" };
    const members = namesOf(view.staying);
    return { start: { members }, what: TASKS.reissue(members), class: "maintain" };
  },

  advance(view, task, operation) {
    if (task.tokenKey) return replaceKey(view, operation);
    return task.ca ? rotate(view, operation) : reissue(view, operation);
  },
};

function managedPlanes(view: View, running: readonly MemberView[] = []): Plane[] {
  const { authorities } = view.observation.platform;
  const records = running.map(({ record }) => record);
  const isUsed = (plane: Plane) =>
    modesInUse(plane, view.spec.tls, records).some((mode) => mode !== "Disabled");
  // Whoever gives a CA rotates it.
  const isOurs = (plane: Plane) => authorities?.[plane] !== undefined && !authorities[plane].given;
  return PLANES.filter((plane) => isUsed(plane) && isOurs(plane));
}

function rotate(view: View, operation: OperationFacts): Progress {
  const { authorities } = view.observation.platform;
  const planes = managedPlanes(view);
  const { uid, name } = operation;
  if (planes.length === 0) return { fail: ending("NoneIssued", {}) };
  const undone = planes.find(
    (plane) => authorities?.[plane]?.turn === "Abort" && authorities[plane].operation === uid,
  );
  if (undone !== undefined) return { fail: ending("AnotherAuthority", { plane: undone }) };
  const under = planes.filter((plane) => isUnder(authorities?.[plane], uid));
  for (const plane of planes) {
    const authority = authorities?.[plane];
    if (authority === undefined || isUnder(authority, uid) || authority.operation === uid) continue;
    const { current } = authority;
    // One that began by itself is finished first, but for its other plane: they roll together.
    if (under.some((other) => authorities?.[other]?.operation !== uid)) break;
    return {
      next: act(
        "roll",
        "OperationRotates",
        { operation: name, plane },
        { kind: "RotateAuthority", plane, to: "Bundle", current, operation: uid },
      ),
    };
  }
  if (under.length === 0) return { succeed: ending("AuthoritiesRotated", { planes }) };
  return {
    // The rule that rotates them says what each waits for.
    next: hold(HOLDS.nothing, "OperationAwaitsRotation", { operation: name, planes: under }),
  };
}

/** In a rotation, or about to begin one that the spec asks for. */
function isUnder(authority: AuthorityFacts | undefined, uid: string): boolean {
  return authority?.phase !== "Steady" || (authority.turn !== undefined && authority.operation !== uid);
}

function reissue(view: View, operation: OperationFacts): Progress {
  const { reissuedFor } = view.observation.platform;
  const { uid, name, status } = operation;
  for (const member of remaining(operation)) {
    if (!view.staying.some((one) => one.name === member))
      return { done: { member, message: DONE.goneBeforeReissue(member) } };
    if (reissuedFor?.[member] === uid) return { done: { member, message: DONE.reissued(member) } };
    const action = { kind: "ReissueCertificates", member, operation: uid } as const;
    return { next: act("maintain", "OperationReissues", { operation: name, member }, action) };
  }
  if (status.steps?.some(({ member }) => member === undefined))
    return { succeed: ending("CertificatesReissued", { members: status.members ?? [] }) };
  // Of the steps, the one for those who are no members.
  if (reissuedFor?.[""] === uid) return { done: { message: DONE.reissuedForClients } };
  const action = { kind: "ReissueCertificates", operation: uid } as const;
  return { next: act("maintain", "OperationReissues", { operation: name }, action) };
}
