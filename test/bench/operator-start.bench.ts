/**
 * How soon the operator is ready after its start, and the memory it holds then and with one cluster of three: as a
 * bundle compiled ahead, with the rights and the flags of its image, against a real API server.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { EtcdCluster } from "../../src/api/etcd-cluster.ts";
import { eventually } from "../../testbed/eventually.ts";
import { upForTests } from "../../testbed/for-tests.ts";
import { sample } from "../support/install.ts";
import { RUNS, tellLoad } from "./measure.ts";
import { CLUSTERS, mb, ship, ShippedOperator } from "./shipped-operator.ts";

const folder = mkdtempSync(join(tmpdir(), "quorate-start-"));
tellLoad();
const bed = await upForTests({ kubelet: "process" });
let operator: ShippedOperator | undefined;
try {
  const shipped = await ship(bed, folder);
  const { plain, cached } = shipped;
  for (const [what, env] of [
    ["plain", plain],
    ["compiled ahead", cached],
  ] as const) {
    const times: number[] = [];
    const cpu: number[] = [];
    let memory = 0;
    for (let run = 0; run < RUNS; run++) {
      operator = await ShippedOperator.start(shipped, env);
      times.push(operator.readyMs);
      cpu.push(operator.cpuMs);
      memory = Math.max(memory, operator.residentBytes);
      await operator.stop();
    }
    console.log(
      `  ready, ${what}: ${range(times)}, of which computing ${range(cpu)}; ${mb(memory)} (${RUNS} runs)`,
    );
  }
  operator = await ShippedOperator.start(shipped, cached);
  await bed.client.create(CLUSTERS, sample("three-members"));
  await eventually(
    "the cluster to be healthy",
    async () => (await bed.client.get<EtcdCluster>(`${CLUSTERS}/three`)).status?.readyReplicas === 3,
    { withinMs: 60_000 },
  );
  const busy = operator.residentBytes;
  await new Promise((resolve) => setTimeout(resolve, 30_000));
  console.log(
    `  one cluster of three: ${mb(busy)} when healthy, ${mb(operator.residentBytes)} after 30 s more`,
  );
} finally {
  await operator?.stop();
  await bed.down();
  rmSync(folder, { recursive: true, force: true });
}

function range(times: readonly number[]): string {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (index: number) => (sorted[index] ?? 0).toFixed(0);
  return `median ${at(RUNS >> 1)} ms, ${at(0)} to ${at(RUNS - 1)} ms`;
}
