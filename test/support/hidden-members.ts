/** What a policy of a network plugin does: packets of the operator's address to etcd's client port are dropped on a node. */
import { HOST } from "../../testbed/nodes/addresses.ts";
import { onNode } from "../../testbed/nodes/node.ts";
import { bedPaths } from "../../testbed/paths.ts";

export async function hideMembers(bed: string, node: number): Promise<void> {
  const rules = `table inet hidden {
    chain forward { type filter hook forward priority -10; ip saddr ${HOST} tcp dport 2379 drop; }
  }`;
  await onNode(bedPaths(bed), node, ["nft", "-f", "-"], Buffer.from(rules));
}

export async function showMembers(bed: string, node: number): Promise<void> {
  await onNode(bedPaths(bed), node, ["nft", "delete", "table", "inet", "hidden"]);
}
