/** PersistentVolumeClaims: the class they get, the finalizer that protects them, and that they only grow. */
import { bytesOf, type Quantity } from "../../../../src/api/quantity.ts";
import { normalised, quantity } from "../built-in.ts";
import { kindOf, type Kind } from "../kind.ts";
import { json, same, type Json, type KubeJson } from "../object.ts";
import { causes, type Cause } from "../refusal.ts";
import { leaf, list, map, metadataSchema, part, struct } from "../schema.ts";

const schema = struct(
  {
    metadata: metadataSchema,
    spec: part({
      accessModes: leaf,
      resources: part({ requests: map(), limits: map() }),
      selector: leaf,
    }),
    status: part({
      conditions: list(["type"]),
      capacity: map(),
      accessModes: leaf,
      allocatedResources: map(),
    }),
  },
  "none",
);

export const PROTECTION = "kubernetes.io/pvc-protection";

/** The size that is asked for. */
export function requestOf(claim: Json): Quantity | undefined {
  const { storage } = json(json(json(claim["spec"])["resources"])["requests"]);
  return storage as Quantity | undefined;
}

function decode(object: Json): Json {
  const claim = normalised(schema, object) as Json;
  const spec = json(claim["spec"]);
  const resources = json(spec["resources"]);
  const requests = json(resources["requests"]);
  const storage = requests["storage"];
  return {
    ...claim,
    spec: {
      ...spec,
      volumeMode: spec["volumeMode"] ?? "Filesystem",
      ...(storage !== undefined && {
        resources: { ...resources, requests: { ...requests, storage: quantity(storage) } },
      }),
    },
    status: { phase: "Pending", ...json(claim["status"]) },
  };
}

function check(object: KubeJson, old: KubeJson | undefined, subresource: string): readonly Cause[] {
  if (subresource !== "") return [];
  const spec = json(object["spec"]);
  if (old) return changes(object, old);
  const found: Cause[] = [];
  if (spec["accessModes"] === undefined)
    found.push(causes.required("spec.accessModes", "Required value: at least 1 access mode is required"));
  if (requestOf(object) === undefined) found.push(causes.required("spec.resources[storage]"));
  return found;
}

const sizeless = (object: Json) => {
  const { resources: _, volumeAttributesClassName: _name, ...rest } = json(object["spec"]);
  return rest;
};

function changes(object: KubeJson, old: KubeJson): readonly Cause[] {
  const spec = json(object["spec"]);
  const found: Cause[] = [];
  const [after, before] = [requestOf(object), requestOf(old)];
  const bound = json(old["status"])["phase"] === "Bound";
  const { volumeName } = spec;
  // Its volume is chosen once.
  const chosen = json(old["spec"])["volumeName"] === undefined && volumeName !== undefined;
  if (
    !same(sizeless(object), { ...sizeless(old), ...(chosen && { volumeName }) }) ||
    (!bound && !same(spec["resources"], json(old["spec"])["resources"]))
  )
    found.push(
      causes.forbidden(
        "spec",
        "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims",
      ),
    );
  const capacity = json(json(old["status"])["capacity"])["storage"] as Quantity | undefined;
  const size = bytesOf(after ?? 0);
  if (size < bytesOf(before ?? 0) && size <= bytesOf(capacity ?? 0))
    found.push(
      causes.forbidden("spec.resources.requests.storage", "field can not be less than status.capacity"),
    );
  return found;
}

export const claims: Kind = kindOf({
  apiVersion: "v1",
  kind: "PersistentVolumeClaim",
  plural: "persistentvolumeclaims",
  schema,
  zero: { spec: { resources: {} }, status: {} },
  hasStatus: true,
  answersDeleted: true,
  restless: true,
  decode,
  admit(object, surroundings) {
    const metadata = json(object["metadata"]);
    const given = (metadata["finalizers"] as readonly string[] | undefined) ?? [];
    const finalizers = given.includes(PROTECTION) ? given : [...given, PROTECTION];
    const spec = json(object["spec"]);
    const className = spec["storageClassName"] ?? surroundings.defaultStorageClass();
    return {
      ...object,
      metadata: { ...metadata, finalizers },
      spec: { ...spec, ...(className !== undefined && { storageClassName: className }) },
    };
  },
  forbids(object, old, surroundings) {
    const [after, before] = [requestOf(object), requestOf(old)];
    if (after === undefined || before === undefined || bytesOf(after) <= bytesOf(before)) return undefined;
    const { storageClassName } = json(object["spec"]);
    const found =
      storageClassName === undefined ? undefined : surroundings.storageClass(String(storageClassName));
    if (found?.["allowVolumeExpansion"] === true) return undefined;
    return "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize";
  },
  prepare: (object, old) => (old ? object : { ...object, status: { phase: "Pending" } }),
  check,
});
