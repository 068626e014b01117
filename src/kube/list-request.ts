/** The request for one page of a list. */
import type { KubeRequest } from "../seams/kube-transport.ts";
import { pathOf, type Resource } from "./resources.ts";
import { selectors, type Scope } from "./scope.ts";

export interface ListWishes {
  readonly pageSize?: number;
  /** Of each object only its metadata. */
  readonly metadataOnly?: boolean;
}

const PAGE = 500;
/** Names, versions and labels of objects, without what they hold. */
const METADATA = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

/** `token`: where the page before this one ended; empty for the first. */
export function listRequest(
  resource: Resource,
  scope: Scope,
  token: string,
  wishes: ListWishes,
): KubeRequest {
  return {
    method: "GET",
    path: pathOf(resource, scope.namespace === undefined ? {} : { namespace: scope.namespace }),
    query: {
      limit: String(wishes.pageSize ?? PAGE),
      ...selectors(scope),
      ...(token !== "" && { continue: token }),
    },
    ...(wishes.metadataOnly && { accept: METADATA }),
  };
}
