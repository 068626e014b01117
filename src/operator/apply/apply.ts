/**
 * Everything that simply has to exist for a cluster, from its records: the list of `wanted.ts`, carried out. What
 * cannot be made, because an object of somebody else's has its name (I9), say, keeps nothing else from being made.
 */
import type { Applied } from "../../control/platform.ts";
import { certifiedUsers } from "../../core/auth/certified.ts";
import { modeOf } from "../../core/config/flags.ts";
import type { View } from "../../core/view.ts";
import { PLANES } from "../../pki/plan.ts";
import { Applier } from "./applier.ts";
import { Outcomes, type ApplyContext } from "./outcomes.ts";
import type { Cached } from "./cached.ts";
import { CLIENTS } from "../names.ts";
import type { Wanted } from "./wanted-object.ts";
import { nameIn, wantedObjects } from "./wanted.ts";

export async function applyObjects(context: ApplyContext, view: View): Promise<Applied> {
  const { certificates, contests, clashes, given, latches, waits } = context;
  waits.follow(view.observation.cluster.generation);
  const outcomes = new Outcomes(context);
  await outcomes.part("objects with the operator's names", async () => {
    if (!(await clashes.recheck())) return;
    // What waited for one of them need not any more.
    waits.clear();
    outcomes.changed = true;
  });
  certificates.users.keepOnly(certifiedUsers(view));
  const helpers = context.helpers?.flatMap((helper) => helper.wanted(view)) ?? [];
  const list = [...wantedObjects(view, cachedOf(context, view)), ...helpers];
  // Of a spec that cannot be understood, it is not known what it wants.
  const isKnown = view.observation.cluster.invalid === undefined;
  if (isKnown && clashes.keepOnly(list.map(({ resource, policy }) => ({ resource, name: nameIn(policy) }))))
    outcomes.changed = true;
  if (isKnown) forgetUnwanted(context, list);
  await new Applier(context, view, outcomes).walk(list);
  const problems = [...outcomes.problems, ...certificates.keeper.problems, ...contests.problems()];
  waits.keepOnly(outcomes.parts);
  const times = [
    certificates.keeper.lookAgainAt,
    certificates.users.lookAgainAt,
    given.lookAgainAt,
    waits.lookAgainAt,
    latches.lookAgainAt,
  ].filter((at) => at !== undefined);
  return {
    changed: outcomes.changed,
    problems,
    ...(times.length > 0 && { lookAgainAt: Math.min(...times) }),
  };
}

/** What kept a client from getting a certificate is nobody's problem once it is to have none. */
function forgetUnwanted({ certificates }: ApplyContext, list: readonly Wanted[]): void {
  const wanted = new Set(
    list.flatMap(({ policy }) =>
      policy.do === "issue" && policy.secret.of === "client" ? policy.secret.commonName : [],
    ),
  );
  for (const name of Object.values(CLIENTS)) if (!wanted.has(name)) certificates.keeper.forget(name);
}

function cachedOf({ certificates, stores, live, key, operatorPods }: ApplyContext, view: View): Cached {
  const { namespace } = view.observation.cluster;
  const isAsked = PLANES.some((plane) => modeOf(view.spec.tls, plane) === "CertManager");
  return {
    hasCertManager: isAsked && stores.followsCertificates(key),
    clusterDomain: certificates.clusterDomain,
    operatorPods,
    ...stores.ownObjects(key),
    cluster: stores.cluster(key),
    member: (name) => stores.member(`${namespace}/${name}`),
    claim: (name) => stores.claim(`${namespace}/${name}`),
    pod: (name) => stores.pod(`${namespace}/${name}`),
    unseen: live.unseen,
  };
}
