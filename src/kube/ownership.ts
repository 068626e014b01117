/**
 * Makes the fields of an object that we created ours by apply. Protects from fields that stay for ever: the server
 * keeps what was set by POST under "Update" and what was set by apply under "Apply", as if by two people, and an
 * apply that leaves a field out does not remove what the other still wants.
 */
import type { CallOptions, KubeClient } from "./client.ts";
import { pathOf, type KubeObject, type Ref, type Resource } from "./resources.ts";

interface Managed {
  readonly manager?: string;
  readonly operation?: string;
  readonly subresource?: string;
  readonly apiVersion?: string;
  readonly fieldsV1?: object;
}

type Raw = KubeObject & { readonly metadata: { readonly managedFields?: readonly Managed[] } };

/** Does nothing when it is so already. */
export async function ownByApply(
  client: KubeClient,
  resource: Resource,
  ref: Ref,
  uid: string,
  options?: CallOptions,
): Promise<void> {
  const path = pathOf(resource, ref);
  const { body } = await client.call(resource, "get", { method: "GET", path }, options);
  const { managedFields = [], resourceVersion } = (body as Raw).metadata;
  const applied = asApplied(managedFields, client.fieldManager);
  if (applied === undefined) return;
  const patch = [
    { op: "test", path: "/metadata/uid", value: uid },
    // In this state only: the field sets are those of this version.
    { op: "replace", path: "/metadata/resourceVersion", value: resourceVersion },
    { op: "replace", path: "/metadata/managedFields", value: applied },
  ];
  const contentType = "application/json-patch+json";
  await client.call(resource, "patch", { method: "PATCH", path, body: patch, contentType }, options);
}

/** The entries with ours turned into one of apply; undefined when there is nothing to turn. */
export function asApplied(entries: readonly Managed[], manager: string): readonly Managed[] | undefined {
  const isOurs = (entry: Managed) => entry.manager === manager && (entry.subresource ?? "") === "";
  const updates = entries.filter((entry) => isOurs(entry) && entry.operation === "Update");
  if (updates.length === 0) return undefined;
  const ours = entries.filter(isOurs);
  // The entry of apply first: it has the version of the API that we apply with.
  const [base = {}] = ours.toSorted((a, b) => ((a.operation ?? "") < (b.operation ?? "") ? -1 : 1));
  const fieldsV1 = ours.reduce<object>((all, { fieldsV1: some = {} }) => union(all, some), {});
  return [...entries.filter((entry) => !isOurs(entry)), { ...base, operation: "Apply", fieldsV1 }];
}

/** Field sets are trees of field names. */
function union(a: object, b: object): object {
  const all: Record<string, unknown> = { ...a };
  for (const [field, under] of Object.entries(b))
    all[field] = union((all[field] as object | undefined) ?? {}, under as object);
  return all;
}
