/**
 * The operator is upgraded, and taken back, under clusters that run: nobody is restarted for it. What an earlier one
 * wrote (records, Pods and their texts, Secrets, Services) is read as it is.
 */
import assert from "node:assert/strict";
import { after, before, test, type TestContext } from "node:test";
import type { EtcdClusterSpecInput } from "../../src/api/etcd-cluster-spec.ts";
import { pods } from "../models/kube/kinds/pod.ts";
import { items, json } from "../models/kube/object.ts";
import { earlierRelease, type Release } from "./earlier-release.ts";
import { wrongWith } from "./judge.ts";
import { OperatorSimulation } from "./simulation.ts";

/** Before members had Services of their own, before the Pods of new members were touched, and with other phases. */
const EARLIER = "b9de869";
const LONG_ENOUGH_MS = 180_000;

let earlier: Release | undefined;
before(async () => void (earlier = await earlierRelease(EARLIER)));
after(() => earlier?.[Symbol.dispose]());

const bases: Readonly<Record<string, EtcdClusterSpecInput>> = {
  "on disk": { replicas: 3, version: "3.6.16" },
  "in memory": { replicas: 3, version: "3.6.16", storage: { medium: "Memory", size: "4Gi" } },
  "alone, on 3.5": { replicas: 1, version: "3.5.35" },
};

function processes(sim: OperatorSimulation): readonly string[] {
  return sim.env.server
    .list(pods)
    .map(
      ({ metadata, status }) =>
        `${metadata.name} ${metadata.uid} ${items(json(status)["containerStatuses"])
          .map(({ restartCount }) => String(restartCount))
          .join()}`,
    )
    .toSorted();
}

async function replaced(sim: OperatorSimulation): Promise<void> {
  for (const { life } of sim.seats) life.cut("another release takes its place");
  await sim.pass(LONG_ENOUGH_MS);
}

function releaseOr(t: TestContext): Release | undefined {
  if (!earlier) t.skip(`commit ${EARLIER} is not here: fetch the whole history (git fetch --unshallow)`);
  return earlier;
}

for (const [name, spec] of Object.entries(bases)) {
  test(`an upgrade of the operator restarts no member, nor does its way back: ${name}`, async (t) => {
    const release = releaseOr(t);
    if (!release) return;
    const lives = [release.Operator, undefined, release.Operator, undefined];
    const sim = new OperatorSimulation(spec, { seed: 1, release: (life) => lives[life - 1] });
    // What the earlier one reports is not judged, and its phases are no longer in the resource definition.
    sim.impediments++;
    await sim.pass(LONG_ENOUGH_MS);
    const made = processes(sim);
    assert.equal(made.length, spec.replicas);
    await replaced(sim);
    assert.deepEqual(processes(sim), made, "upgraded");
    await replaced(sim);
    assert.deepEqual(processes(sim), made, "taken back");
    await replaced(sim);
    sim.impediments--;
    await sim.settle();
    assert.deepEqual(processes(sim), made, "upgraded again");
    assert.deepEqual(wrongWith(sim), []);
  });
}
