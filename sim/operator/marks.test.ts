/** Marks on the cluster that cannot be read: only the steps that need them wait, and the status says which mark it is. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { API_VERSION, GROUP } from "../../src/api/metadata.ts";
import { NAME, NAMESPACE } from "./environment.ts";
import { OperatorSimulation } from "./simulation.ts";

const MARK = `${GROUP}/highest-ordinal`;

function mark(sim: OperatorSimulation, value: string): void {
  const { status } = sim.user({
    method: "PATCH",
    path: `/apis/${API_VERSION}/namespaces/${NAMESPACE}/etcdclusters/${NAME}`,
    body: { metadata: { annotations: { [MARK]: value } } },
    contentType: "application/merge-patch+json",
  });
  assert.equal(status, 200);
}

const names = (sim: OperatorSimulation) => sim.env.members().map(({ metadata }) => metadata.name);

test("without the mark of the highest name no member is added, so that no name is used twice", async () => {
  const storage = { retention: { onScaleIn: "Delete" } } as const;
  const sim = new OperatorSimulation({ replicas: 3, version: "3.6.16", storage }, { seed: 1 });
  await sim.settle();
  for (const replicas of [4, 3]) {
    assert.equal(sim.edit({ replicas }), true);
    await sim.settle();
  }
  const highest = sim.cluster?.metadata.annotations?.[MARK] ?? "";
  assert.equal(highest, "4");
  mark(sim, "oops");
  assert.equal(sim.edit({ replicas: 4 }), true);
  await sim.pass(60_000);
  assert.deepEqual(names(sim), ["demo-1", "demo-2", "demo-3"]);
  assert.match(sim.cluster?.status?.message ?? "", /highest-ordinal\] cannot be read \(oops\)/);
  mark(sim, highest);
  await sim.settle();
  assert.equal(sim.converged, true, sim.whyNot());
  assert.deepEqual(names(sim), ["demo-1", "demo-2", "demo-3", "demo-5"]);
});
