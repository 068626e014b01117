/** How entries of the list of wanted objects are made: applied, patched, deleted. */
import type { MemberRecord } from "../../core/record.ts";
import { isControlledBy, type KubeObject, type Resource } from "../../kube/resources.ts";
import type { Fields, HowPatched, Wanted } from "./wanted-object.ts";

export function applied(
  resource: Resource,
  object: KubeObject,
  cached: readonly KubeObject[],
  ownerUID: string,
  at?: MemberRecord,
): Wanted {
  const [known, isOurs] = [named(cached, nameOf(object)), of(ownerUID)];
  const policy = { do: "apply", object, known, isOurs, ...(at && { at }) } as const;
  return { part: `${resource.kind} ${nameOf(object)}`, resource, policy };
}

export function deleted(
  resource: Resource,
  known: KubeObject,
  ownerUID: string,
  unlessRecorded?: string,
): Wanted[] {
  if (!isControlledBy(known, ownerUID) || known.metadata?.deletionTimestamp !== undefined) return [];
  const policy = { do: "delete", known, ...(unlessRecorded && { unlessRecorded }) } as const;
  return [{ part: `${resource.kind} ${nameOf(known)}`, resource, policy }];
}

/** Nothing where no field differs. */
export function patched(
  part: string,
  resource: Resource,
  known: KubeObject,
  fields: Fields | undefined,
  how: HowPatched = {},
): Wanted[] {
  return fields === undefined ? [] : [{ part, resource, policy: { do: "patch", known, fields, ...how } }];
}

export const of = (ownerUID: string) => (found: KubeObject) => isControlledBy(found, ownerUID);
export const nameOf = ({ metadata }: KubeObject) => metadata?.name ?? "";

export function named<T extends KubeObject>(objects: readonly T[], name: string): T | undefined {
  return objects.find((object) => nameOf(object) === name);
}
