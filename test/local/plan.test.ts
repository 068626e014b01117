/**
 * What `plan` foretells is what is done: for each of these edits, one after the other on one cluster, the steps
 * foretold from an observation are the steps then carried out from it, each with its member.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { EtcdClusterSpecInput } from "../../src/api/etcd-cluster-spec.ts";
import { stepName } from "../../src/control/transcript.ts";
import type { Act } from "../../src/core/action.ts";
import { plan } from "../../src/core/plan/plan.ts";
import { eventually } from "../../testbed/eventually.ts";
import { etcdOf } from "../support/etcd-cluster.ts";
import { LocalCluster } from "../support/local-cluster.ts";
import { EVERY_CASE } from "../support/sample.ts";

type Edit = readonly [what: string, change: Partial<EtcdClusterSpecInput>];

/** The same steps as between one and three. */
const FIVE: readonly Edit[] = [
  ["grow from three to five", { replicas: 5 }],
  ["shrink from five to three", { replicas: 3 }],
];
const EDITS: readonly Edit[] = [
  ["grow from one to three", { replicas: 3 }],
  ["change an option", { options: { snapshotCount: 5_000 } }],
  ["a newer patch", { version: "3.6.16" }],
  ...(EVERY_CASE ? FIVE : []),
  ["hibernate", { replicas: 0 }],
  ["wake", { replicas: 3 }],
  ["a newer minor", { version: "3.7.3" }],
  ["back to the older minor", { version: "3.6.16" }],
  ["shrink from three to one", { replicas: 1 }],
];

let local: LocalCluster;

before(async () => {
  await Promise.all(["3.6.14", "3.6.16", "3.7.3"].map(etcdOf));
  local = await LocalCluster.start({
    version: "3.6.14",
    replicas: 1,
    update: { canary: false },
    // Its time may come in the midst of an edit, and then it is no part of the plan.
    maintenance: { hashCheck: { interval: "0s" } },
  });
});

after(async () => {
  await local?.[Symbol.asyncDispose]();
});

for (const [what, change] of EDITS) {
  test(`${what}: what is planned is what is done`, async () => {
    await local.halt();
    // A member that answers late is silent for one look.
    const { observation } = await eventually("at rest", async () => {
      const pass = await local.pass();
      assert.ok(pass.decision.converged, local.story());
      return pass;
    });
    await local.edit(change);
    const stored = await local.store.cluster();
    assert.ok(stored);
    const { spec, generation } = stored;
    const forecasted = plan({ ...observation, cluster: { ...observation.cluster, spec, generation } });
    assert.ok(forecasted.end.converged, JSON.stringify(forecasted.end));
    assert.ok(forecasted.steps.length > 0);

    const from = local.steps.length;
    local.run();
    await local.settled();
    assert.deepEqual(inOrder(local.done(from)), inOrder(forecasted.steps.map(nameOf)), local.story());
  });
}

function nameOf({ action }: Act): string {
  const step = stepName(action);
  return "member" in action ? `${step} ${action.member}` : step;
}

/** A latch notes that a member was seen to serve, whenever that was: it belongs to the permit to start. */
function inOrder(steps: readonly string[]): string[] {
  const latch = "UpdateMember/latch-joined ";
  const permit = "UpdateMember/permit-start ";
  const latched = new Set(steps.filter((step) => step.startsWith(latch)));
  return steps.flatMap((step) => {
    if (latched.has(step)) return [];
    const own = step.replace(permit, latch);
    return latched.has(own) ? [step, own] : [step];
  });
}
