/**
 * Every field that a person may write, found by walking the schema: named fields, items of lists, values of maps.
 * A new field of the API is here as soon as it is in the schema.
 */
import { resourceSchema, type ResourceSchema, type SchemaNode } from "../../src/api/json-schema.ts";
import { resources } from "../../src/api/resources.ts";

/** From the spec on: a name, `[]` for the items of a list, `{}` for the values of a map. */
export type Step = string;
export const ITEM = "[]";
export const VALUE = "{}";

export interface Field {
  /** `spec.pod.env[].name`. */
  readonly path: string;
  readonly steps: readonly Step[];
  readonly node: SchemaNode;
  readonly kind: "scalar" | "list" | "map" | "object";
  /** In a part that is handed on in Kubernetes' own shape. */
  readonly handedOn: boolean;
}

/** Whose specs are explored field by field: those that people write and change; `created`: in dependents.ts. */
const WRITTEN_BY_PEOPLE: Readonly<Record<string, boolean | "created">> = {
  EtcdCluster: true,
  // Made and changed by the operator alone; its rules are tried in src/api/member-examples.ts.
  EtcdMember: false,
  EtcdOperation: "created",
  EtcdSnapshot: "created",
  EtcdSnapshotSchedule: "created",
  EtcdUser: "created",
  EtcdRole: "created",
};

/** The kinds that need a line in dependents.ts. */
export const CREATED: readonly string[] = resources
  .map(({ kind }) => kind)
  .filter((kind) => WRITTEN_BY_PEOPLE[kind] === "created");

const CLUSTER = resources.find(({ kind }) => kind === "EtcdCluster");

export const tree: ResourceSchema = resourceSchema(explored());
export const specNode: SchemaNode = tree.schema.properties?.["spec"] ?? {};

function explored() {
  const unknown = resources.filter(({ kind }) => WRITTEN_BY_PEOPLE[kind] === undefined);
  if (unknown.length > 0 || CLUSTER === undefined)
    throw new RangeError(
      `nobody explores ${unknown.map(({ kind }) => kind).join(", ")}: say in sim/schema/fields.ts how, and add it to dependents.ts`,
    );
  return CLUSTER.schema;
}

export function fieldsOf(node: SchemaNode = specNode): Field[] {
  return below(node, "spec", [], false);
}

function below(node: SchemaNode, path: string, steps: readonly Step[], handedOn: boolean): Field[] {
  const named = Object.entries(node.properties ?? {}).flatMap(([name, child]) =>
    at(child, `${path}.${name}`, [...steps, name], handedOn),
  );
  const items = node.items ? at(node.items, `${path}[]`, [...steps, ITEM], handedOn) : [];
  const values = node.additionalProperties
    ? at(node.additionalProperties, `${path}{}`, [...steps, VALUE], handedOn)
    : [];
  return [...named, ...items, ...values];
}

function at(node: SchemaNode, path: string, steps: readonly Step[], inherited: boolean): Field[] {
  const handedOn = inherited || node.kubernetesType !== undefined;
  return [{ path, steps, node, kind: kindOf(node, path), handedOn }, ...below(node, path, steps, handedOn)];
}

function kindOf(node: SchemaNode, path: string): Field["kind"] {
  if (node["x-kubernetes-int-or-string"]) return "scalar";
  if (node.items) return "list";
  if (node.properties) return "object";
  if (node.additionalProperties) return "map";
  if (node.type === undefined || node.type === "array" || node.type === "object")
    throw new RangeError(`${path} has a shape that sim/schema/fields.ts does not know`);
  return "scalar";
}

/** What a refusal may call a field: its name, or for a part of an item that of the list or map. */
export function namesOf({ steps }: Field): string[] {
  const isName = (step: Step) => step !== ITEM && step !== VALUE;
  const last = steps.findLastIndex(isName);
  const around = steps.slice(0, last).findLastIndex(isName);
  const isOfItem = steps.slice(around + 1, last).length > 0;
  return [steps[last], isOfItem ? steps[around] : undefined].filter((name) => name !== undefined);
}
