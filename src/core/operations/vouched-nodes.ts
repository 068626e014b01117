/** Nodes that an operation says are off: whether these are the ones of which it has to be said, and whether it still holds. */
import { heardSince } from "../assess/nodes-off.ts";
import { ending, type Ending } from "../messages/operation-endings.ts";
import type { OperationFacts } from "../observation.ts";
import type { View } from "../view.ts";

interface Vouching {
  readonly nodesOff?: readonly string[] | undefined;
}

/** The hash of a plan says what the person has read, and the names what the person vouches for. */
export function unlikeNodes(
  { nodesOff: named = [] }: Vouching,
  toBeOff: readonly string[],
): Ending | undefined {
  const missing = toBeOff.filter((name) => !named.includes(name));
  if (missing.length > 0) return ending("NodesNotNamed", { nodes: missing });
  return notAsked({ nodesOff: named }, toBeOff);
}

/** Named too early, by mistake, or of a node that was heard meanwhile. */
export function notAsked({ nodesOff: named = [] }: Vouching, toBeOff: readonly string[]): Ending | undefined {
  const extra = named.filter((name) => !toBeOff.includes(name));
  return extra.length > 0 ? ending("NodesNotAsked", { nodes: extra }) : undefined;
}

/** Whoever said that they are off was wrong, or it holds no longer. */
export function contradicted(
  view: View,
  { nodesOff = [] }: Vouching,
  operation: Pick<OperationFacts, "createdAt">,
): Ending | undefined {
  const nodes = heardSince(view, nodesOff, operation);
  return nodes.length > 0 ? ending("NodesReport", { nodes }) : undefined;
}
