/**
 * What has to be so before the operator can work: a Kubernetes that we know, our resource definitions, and leave
 * to read them. Each is reported with what to do about it.
 */
import { GROUP } from "../../api/metadata.ts";
import type { KubeClient } from "../../kube/client.ts";
import { isReason } from "../../kube/errors.ts";
import type { Log } from "../../kube/log.ts";
import type { Resource } from "../../kube/resources.ts";
import { entriesOf, NAMESPACED_KINDS } from "../kinds.ts";
import { judgeKubernetes, serverVersion } from "./kubernetes-version.ts";

export class Unmet extends Error {
  override name = "Unmet";
}

/** Throws `Unmet` when the operator cannot work here. */
export async function checkRequirements(
  client: KubeClient,
  namespaces: readonly string[] | undefined,
  log: Log,
): Promise<void> {
  const places = namespaces?.map((namespace) => ({ namespace })) ?? [{}];
  await Promise.all([
    checkVersion(client, log),
    ...places.flatMap((place) => needed().map((resource) => checkServed(client, resource, place))),
  ]);
}

/** Those of our own group that nothing can be done without. */
function needed(): Resource[] {
  const kinds = entriesOf(NAMESPACED_KINDS).map(([, kind]) => kind);
  return kinds
    .filter(({ resource, ifRefused }) => resource.group === GROUP && ifRefused === undefined)
    .map(({ resource }) => resource);
}

async function checkVersion(client: KubeClient, log: Log): Promise<void> {
  const judged = judgeKubernetes(await serverVersion(client));
  if (judged.verdict === "unsupported") throw new Unmet(judged.message);
  if (judged.verdict === "untested") log("warn", judged.message);
}

async function checkServed(
  client: KubeClient,
  resource: Resource,
  place: { namespace?: string },
): Promise<void> {
  try {
    for await (const _ of client.pages(resource, place, { pageSize: 1 })) return;
  } catch (error) {
    if (isReason(error, "NotFound")) {
      const apply = "apply config/crd (or config/install.yaml) first";
      throw new Unmet(`the API server does not serve ${resource.plural}.${resource.group}: ${apply}`, {
        cause: error,
      });
    }
    if (isReason(error, "Forbidden", "Unauthorized")) {
      const where =
        place.namespace === undefined ? "in all namespaces (or use --namespace)" : `in ${place.namespace}`;
      throw new Unmet(`cannot read ${resource.plural} ${where}: ${error.message}`, { cause: error });
    }
    throw error;
  }
}
