/**
 * Services and the disruption budget: applied as rendered, and taken away when the spec does not ask for them any
 * more.
 */
import type { View } from "../core/view.ts";
import {
  isControlledBy,
  services as serviceResource,
  type KubeObject,
  type Resource,
} from "../kube/resources.ts";
import { keepApplied } from "./keep.ts";
import { disruptionBudget } from "./render/budget.ts";
import { clusterServices } from "./render/services.ts";
import { budgets as budgetResource } from "./resources.ts";
import type { ApplyContext, Tally } from "./tally.ts";

export async function applyNetwork(context: ApplyContext, view: View, tally: Tally): Promise<void> {
  const { services, budgets } = context.stores.ownObjects(context.key);
  const budget = disruptionBudget(view);
  await Promise.all([
    applyAll(context, view, tally, serviceResource, clusterServices(view), services),
    applyAll(context, view, tally, budgetResource, budget ? [budget] : [], budgets),
  ]);
}

async function applyAll<T extends KubeObject>(
  context: ApplyContext,
  view: View,
  tally: Tally,
  resource: Resource<T>,
  wanted: readonly T[],
  known: readonly T[],
): Promise<void> {
  const { uid, namespace } = view.observation.cluster;
  const nameOf = ({ metadata }: KubeObject) => metadata?.name ?? "";
  const names = new Set(wanted.map(nameOf));
  // Before the latch most of them are not wanted yet; that is no reason to take anything away.
  const unwanted = view.established
    ? known.filter((object) => !names.has(nameOf(object)) && isControlledBy(object, uid))
    : [];
  await Promise.all([
    ...wanted.map((object) =>
      tally.part(`${resource.kind} ${nameOf(object)}`, async () => {
        const found = known.find((one) => nameOf(one) === nameOf(object));
        tally.note(context, resource, await keepApplied(context.client, resource, object, found, uid));
      }),
    ),
    ...unwanted.map((object) =>
      tally.part(`${resource.kind} ${nameOf(object)}`, async () => {
        if (object.metadata?.deletionTimestamp !== undefined) return;
        const wishes = { uid: object.metadata?.uid ?? "" };
        await context.client.delete(resource, { name: nameOf(object), namespace }, wishes);
        tally.changed = true;
      }),
    ),
  ]);
}
