/**
 * How soon a cluster of three with TLS is there that the operator makes, beside a plain StatefulSet of the same three
 * whose certificates are ready-made. On three real nodes with the images on them; the operator runs as its Deployment.
 */
import { randomUUID } from "node:crypto";
import { API_VERSION } from "../../src/api/metadata.ts";
import { eventually } from "../../testbed/eventually.ts";
import type { KubeObject } from "../../testbed/client.ts";
import { PATHS } from "../support/kube-paths.ts";
import { has, Installed, isReady } from "./installed.ts";
import { median, RUNS, show, tellLoad, timed } from "./measure.ts";
import { PlainStatefulSet } from "./plain-statefulset.ts";
import { stagesOf, tellStages, type Stages } from "./stages.ts";

const MOST_TIMES = 1.2;
const SPEC = {
  version: "3.6.16",
  replicas: 3,
  tls: { mode: "Managed" },
  storage: { size: "5Gi", retention: { onDelete: "Delete" } },
} as const;

interface Run {
  readonly ms: number;
  readonly stages: Stages;
}

await using installed = await Installed.up();
const { client } = installed.bed;
// The first of each brings the images to the nodes.
await ours();
await theirs();
tellLoad();
const [own, plain]: [Run[], Run[]] = [[], []];
for (let i = 0; i < RUNS; i++) {
  own.push(await ours());
  plain.push(await theirs());
}
const [mine, other] = [own, plain].map((runs) => runs.map(({ ms }) => ms)) as [number[], number[]];
const times = median(mine) / median(other);
const met = times <= MOST_TIMES;
console.log(`  the operator, as its Deployment: three members with TLS after ${show(mine, "ms")}`);
tellStages(
  "the operator",
  own.map(({ stages }) => stages),
);
console.log(`  a plain StatefulSet, all Pods at once, certificates ready-made: ${show(other, "ms")}`);
tellStages(
  "the StatefulSet",
  plain.map(({ stages }) => stages),
);
console.log(
  `  ${times.toFixed(2)} times the StatefulSet, ${RUNS} runs each in turn: ${met ? "met" : "NOT met"} (at most ${MOST_TIMES} times)`,
);
tellLoad();
process.exitCode = met ? 0 : 1;

async function ours(): Promise<Run> {
  const name = newName("ours");
  const stages = stagesOf(installed, name, 3);
  const ms = await timed(async () => {
    await client.create(PATHS.clusters, {
      apiVersion: API_VERSION,
      kind: "EtcdCluster",
      metadata: { name },
      spec: SPEC,
    });
    await installed.until(
      `${name} is available`,
      () => has(installed.cluster(name), "Available") && installed.pods(name).filter(isReady).length === 3,
    );
  });
  await client.delete(`${PATHS.clusters}/${name}`);
  await gone();
  return { ms, stages: await stages };
}

async function theirs(): Promise<Run> {
  const plainSet = new PlainStatefulSet(client, newName("plain"), SPEC);
  await plainSet.prepare();
  const stages = stagesOf(installed, plainSet.name, 3);
  const ms = await timed(async () => {
    await plainSet.create();
    await stages;
  });
  await plainSet.delete();
  await gone();
  return { ms, stages: await stages };
}

/** No two runs have a name in common, since DNS remembers what was there and what was not. */
function newName(kind: string): string {
  return `${kind}-${randomUUID().slice(0, 6)}`;
}

/** What goes must not compete with what comes. */
async function gone(): Promise<void> {
  await eventually(
    "nothing is left",
    async () => {
      const paths = [PATHS.pods, PATHS.claims, "/api/v1/persistentvolumes"];
      const lists = await Promise.all(paths.map((path) => client.get<{ items: KubeObject[] }>(path)));
      return lists.every(({ items }) => items.length === 0);
    },
    { everyMs: 200, withinMs: 120_000 },
  );
}
