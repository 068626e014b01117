/**
 * Services and the disruption budget: applied as rendered, and taken away when the spec does not ask for them any
 * more; and the members' own Services, as their records say.
 */
import type { Service } from "kubernetes-types/core/v1.d.ts";
import type { View } from "../../core/view.ts";
import {
  isControlledBy,
  services as serviceResource,
  type KubeObject,
  type Resource,
} from "../../kube/resources.ts";
import { keepApplied } from "./keep.ts";
import { hasPeerService, peerServiceName } from "../names.ts";
import { memberOf } from "./peer-services.ts";
import { disruptionBudget } from "../render/budget.ts";
import { clusterServices } from "../render/services.ts";
import { budgets as budgetResource } from "../resources.ts";
import type { ApplyContext, Tally } from "./tally.ts";

export async function applyNetwork(context: ApplyContext, view: View, tally: Tally): Promise<void> {
  const { services, budgets } = context.stores.ownObjects(context.key);
  const budget = disruptionBudget(view);
  await Promise.all([
    applyAll(context, view, tally, serviceResource, clusterServices(view), services.filter(isOfTheCluster)),
    applyAll(context, view, tally, budgetResource, budget ? [budget] : [], budgets),
  ]);
}

const isOfTheCluster = (service: Service) => memberOf(service) === "";

/** Whatever the spec says: which members there are is in their records. */
export async function applyPeerServices(context: ApplyContext, view: View, tally: Tally): Promise<void> {
  const { client, peerServices } = context;
  const { services } = context.stores.ownObjects(context.key);
  const { cluster } = view.observation;
  const records = view.members.map(({ record }) => record).filter((one) => hasPeerService(cluster, one));
  const nameOf = ({ metadata }: Service) => metadata?.name ?? "";
  const wanted = new Set(records.map(({ name }) => peerServiceName(name)));
  // Before the latch founders are still being made; that is no reason to take anything away.
  const others = services.filter(
    (service) =>
      view.established &&
      !isOfTheCluster(service) &&
      !wanted.has(nameOf(service)) &&
      isControlledBy(service, cluster.uid) &&
      service.metadata?.deletionTimestamp === undefined,
  );
  await Promise.all([
    ...records.map((record) =>
      tally.part(`Service ${peerServiceName(record.name)}`, async () => {
        const known = services.find((service) => nameOf(service) === peerServiceName(record.name));
        tally.note(context, serviceResource, await peerServices.keep(cluster, record, known));
      }),
    ),
    ...others.map((service) =>
      tally.part(`Service ${nameOf(service)}`, async () => {
        if (!(await peerServices.isLeftOver(view, service))) return;
        const ref = { name: nameOf(service), namespace: cluster.namespace };
        await client.delete(serviceResource, ref, { uid: service.metadata?.uid ?? "" });
        tally.changed = true;
      }),
    ),
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
  // Before clients are let in most of them are not wanted yet; that is no reason to take anything away.
  const unwanted = view.open
    ? known.filter((object) => !names.has(nameOf(object)) && isControlledBy(object, uid))
    : [];
  await Promise.all([
    ...wanted.map((object) =>
      tally.part(`${resource.kind} ${nameOf(object)}`, async () => {
        const found = known.find((one) => nameOf(one) === nameOf(object));
        tally.note(
          context,
          resource,
          await keepApplied(context.client, resource, object, found, uid, context.contests),
        );
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
