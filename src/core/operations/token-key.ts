/**
 * rotateCertificates with `tokenKey`: members are given another key to sign auth tokens with. The mark on the cluster has
 * the number of the key and which operation asked for it; the rollout starts the members with it.
 */
import { currentKeyOf, replaceTokenKey } from "../assess/token-key.ts";
import { signingKey } from "../auth/token.ts";
import { HOLDS } from "../steps/hold-classes.ts";
import { ending } from "../messages/operation-endings.ts";
import { TASKS } from "../messages/operation-steps.ts";
import type { OperationFacts } from "../observation.ts";
import { hold } from "../steps/outcome.ts";
import { namesOf, type View } from "../view.ts";
import type { Preparation, Progress } from "./handler.ts";

export function prepareKey(view: View): Preparation {
  if (!isSigned(view)) return { reject: ending("TokensNotSigned", {}) };
  return { start: {}, what: TASKS.replaceTokenKey, class: "roll" };
}

export function replaceKey(view: View, { uid, name }: OperationFacts): Progress {
  if (!isSigned(view)) return { fail: ending("TokensNotSigned", {}) };
  const { tokenKey } = view.observation.cluster.marks;
  if (tokenKey?.operation !== uid) return { next: replaceTokenKey(view, { operation: name, uid }) };
  const current = currentKeyOf(view);
  const lacking = view.staying.filter(
    ({ record, upToDate, healthy }) =>
      signingKey(record.template) !== current || (record.run && !(upToDate && healthy)),
  );
  if (lacking.length === 0) return { succeed: ending("TokenKeyReplaced", { number: current }) };
  // The rollout gives it to them.
  return { next: hold(HOLDS.nothing, "OperationAwaitsKey", { operation: name, members: namesOf(lacking) }) };
}

function isSigned({ spec }: View): boolean {
  return spec.auth?.token?.type === "JWT";
}
