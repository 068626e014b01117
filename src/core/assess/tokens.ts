/** The tokens of etcd's authentication on a running cluster: who must restart for what the spec asks for. */
import { sameTokens, signingKey, withKey } from "../auth/token.ts";
import type { TokensInForce } from "../messages/auth-words.ts";
import { templateFor } from "../template/template.ts";
import type { MemberView, View } from "../view.ts";

/** Members that do not run with what the spec asks for; one that does not run starts with what its record says. */
export function lackTokens(view: View): string[] {
  const wanted = withKey(view, templateFor(view.spec, view.spec.version));
  return view.staying
    .filter((member) => !sameTokens(member.record.template, wanted) || mayRunAnother(member))
    .map(({ name }) => name);
}

/** A process from before its record was changed; one that is being stopped may still answer. */
function mayRunAnother({ upToDate, workload }: MemberView): boolean {
  const isLost = workload.state === "stopping" && workload.lostNode !== undefined;
  return !upToDate && workload.state !== "exited" && !isLost;
}

/** What is in force. */
export function tokensOf(view: View): TokensInForce {
  const key = Math.max(0, ...view.staying.map(({ record }) => signingKey(record.template) ?? 0));
  return { lacking: lackTokens(view), key };
}
