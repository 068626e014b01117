/**
 * EtcdUsers with a certificate of their own: who is given one, and why somebody cannot be. It is issued only while auth is
 * asked for (before, every certificate of the client CA may do everything, R49), and only to a user whose object is kept
 * until the user is gone from etcd: so deleting the EtcdUser always ends what the certificate may do before it goes.
 */
import type { View } from "../view.ts";
import type { AuthFacts, UserCertificate, UserFacts } from "./facts.ts";
import { own } from "./own.ts";
import { wantedAuth } from "./wanted.ts";

/** Those whose certificate has to be in place. */
export function certifiedUsers(view: View): UserFacts[] {
  const { auth: facts, cluster } = view.observation;
  if (!facts || cluster.invalid !== undefined || view.spec.auth?.enabled !== true) return [];
  if (facts.users.every(({ certificate }) => !certificate)) return [];
  return wantedAuth(view, facts).users.flatMap(({ of, problem }) =>
    of?.certificate && of.applied && mayKeep(problem) ? [of] : [],
  );
}

/** One that it has is renewed whatever is wrong with the rest of its user: only another user of the name ends that. */
function mayKeep(problem: { readonly reason: string } | undefined): boolean {
  return problem === undefined || !["NameTaken", "CertificateUnavailable"].includes(problem.reason);
}

/** What is known of the certificate of a user that asks for one. */
export function certificateOf(
  facts: AuthFacts,
  { object, certificate }: UserFacts,
): UserCertificate | undefined {
  return certificate ? own(facts.certificates ?? {}, object) : undefined;
}
