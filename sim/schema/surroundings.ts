/** What valid values name is there: images by their digest, storage classes, labels of nodes. */
import { nodes, storageClasses } from "../models/kube/kinds/simple.ts";
import type { OperatorSimulation } from "../operator/simulation.ts";
import { DIGESTS, KEYS, NAMED } from "./values.ts";

export function furnish(sim: OperatorSimulation, version: string): void {
  const { server, pods } = sim.env;
  for (const digest of DIGESTS) pods.digests.set(digest, version);
  const [usual] = server.list(storageClasses);
  for (const name of NAMED)
    sim.user({
      method: "POST",
      path: "/apis/storage.k8s.io/v1/storageclasses",
      body: { ...usual, metadata: { name } },
    });
  const [label = ""] = KEYS;
  const [value = ""] = NAMED;
  for (const { metadata } of server.list(nodes))
    sim.user({
      method: "PATCH",
      path: `/api/v1/nodes/${metadata.name}`,
      contentType: "application/merge-patch+json",
      body: { metadata: { labels: { [label]: value } } },
    });
}
