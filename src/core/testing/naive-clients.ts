/** Who is served, said once more in the plainest words; part of naive-invariants.ts. */
import assert from "node:assert/strict";
import { millisecondsOf } from "../../api/duration.ts";
import type { MemberFacts, Observation } from "../observation.ts";
import type { MemberTemplate } from "../record.ts";
import { closingWord } from "../template/effective.ts";

/** R56: a client without a certificate is served by all until a person or a time says otherwise, then by ever fewer. */
export function assertNobodyShutOut(
  o: Observation,
  facts: MemberFacts,
  template: MemberTemplate,
  { token, established }: { readonly token: string; readonly established: boolean },
): void {
  const takesAll = ({ tls }: MemberTemplate) =>
    tls.clientAuth === "None" && (tls.client?.mode ?? tls.mode) !== "Disabled";
  if (!takesAll(facts.record.template) || takesAll(template)) return;
  const others = o.members.filter(
    (other) => other !== facts && !other.record.leaving && other.record.token === token,
  );
  if (!established || others.some(({ record }) => !takesAll(record.template))) return;
  const { transition } = o.cluster.spec.tls;
  const since = o.platform.clientsChooseSince ?? Infinity;
  const isTime =
    transition?.proceed === "After" && o.now >= since + millisecondsOf(transition.after ?? "never");
  assert.ok(
    isTime || o.cluster.approved === closingWord(o.cluster, template),
    "R56: nobody is shut out unasked",
  );
}
