/**
 * From a zod schema to the structural OpenAPI v3 schema that Kubernetes wants, with the rules as CEL.
 * The result is also what the validator, the reference page and the list of Kubernetes-only fields
 * walk over, so that all of them see one tree.
 */
import { z } from "zod";
import type { KubernetesOnly, Rule } from "./rule.ts";

/** A node of a structural schema: what this project uses of it. */
export interface SchemaNode {
  type?: "object" | "array" | "string" | "integer" | "number" | "boolean";
  description?: string;
  format?: string;
  default?: unknown;
  enum?: unknown[];
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  minItems?: number;
  maxItems?: number;
  maxProperties?: number;
  properties?: Record<string, SchemaNode>;
  required?: string[];
  items?: SchemaNode;
  additionalProperties?: SchemaNode;
  anyOf?: SchemaNode[];
  "x-kubernetes-validations"?: Validation[];
  "x-kubernetes-int-or-string"?: boolean;
  "x-kubernetes-preserve-unknown-fields"?: boolean;
  "x-kubernetes-list-type"?: string;
  "x-kubernetes-list-map-keys"?: string[];
  /** Not part of the resource definition: `publicSchema` takes these out. */
  kubernetesOnly?: KubernetesOnly;
  kubernetesType?: string;
  /** Filled in when the object is read: the API server must not, since nobody could tell it from a user's wish. */
  defaultOf?: "operator";
}

export interface Validation {
  rule: string;
  message: string;
  messageExpression?: string;
  fieldPath?: string;
}

export interface ResourceSchema {
  readonly schema: SchemaNode;
  /** The rule behind a validation, found by its CEL text. */
  readonly rules: ReadonlyMap<string, Rule>;
}

export function resourceSchema(schema: z.ZodType): ResourceSchema {
  const rules = new Map<string, Rule>();
  const json = z.toJSONSchema(schema, {
    target: "openapi-3.0",
    io: "input",
    override: ({ jsonSchema }) => {
      makeStructural(jsonSchema as SchemaNode & { rules?: readonly Rule[] }, rules);
    },
  });
  return { schema: json as SchemaNode, rules };
}

/** zod visits a node once per wrapper (optional, default, …): each of these steps may run again. */
function makeStructural(node: SchemaNode & { rules?: readonly Rule[] }, rules: Map<string, Rule>): void {
  if (node.rules) {
    node["x-kubernetes-validations"] = node.rules.map(validationOf);
    for (const rule of node.rules) rules.set(rule.cel, rule);
    delete node.rules;
  }
  if (node["x-kubernetes-int-or-string"]) node.anyOf = [{ type: "integer" }, { type: "string" }];
  if (node.type === "integer") boundInteger(node);
  if (node.properties && node.additionalProperties !== undefined) {
    // `false` is said by pruning in Kubernetes; anything else means a loose object.
    const closed = (node.additionalProperties as unknown) === false;
    delete node.additionalProperties;
    if (!closed) node["x-kubernetes-preserve-unknown-fields"] = true;
  }
}

function validationOf(rule: Rule): Validation {
  const { cel, message, messageExpression, fieldPath } = rule;
  return {
    rule: cel,
    message,
    ...(messageExpression === undefined ? {} : { messageExpression }),
    ...(fieldPath === undefined ? {} : { fieldPath }),
  };
}

/** A resource definition cannot point into the metadata: such an error is reported at the root. */
function publicValidation({ fieldPath, ...validation }: Validation): Validation {
  return fieldPath === undefined || fieldPath.startsWith(".metadata")
    ? validation
    : { ...validation, fieldPath };
}

/**
 * The API server checks the rules of a node against its default as written, before the defaults of its
 * fields are filled in: a default of `{}` has to be spelled out where there are rules.
 */
function spelledOut(node: SchemaNode): unknown {
  const { properties, default: given, defaultOf } = node;
  if (defaultOf !== undefined) return undefined;
  if (!properties || typeof given !== "object" || given === null) return given;
  const inner = Object.entries(properties).map(([name, child]) => [name, spelledOut(child)] as const);
  return { ...Object.fromEntries(inner.filter(([, value]) => value !== undefined)), ...given };
}

/** JavaScript's limits are no limits of the API. */
function boundInteger(node: SchemaNode): void {
  if (node.minimum === Number.MIN_SAFE_INTEGER) delete node.minimum;
  if (node.maximum === Number.MAX_SAFE_INTEGER) delete node.maximum;
}

function withoutDefault(node: SchemaNode): SchemaNode {
  const { default: _ours, ...rest } = node;
  return rest;
}

/** The schema without what is ours alone, as the API server takes it. */
export function publicSchema(node: SchemaNode): SchemaNode {
  const {
    kubernetesOnly: _only,
    kubernetesType: _type,
    defaultOf,
    properties,
    items,
    additionalProperties,
    ...rest
  } = node;
  const validations = node["x-kubernetes-validations"];
  return {
    ...(defaultOf === undefined ? rest : withoutDefault(rest)),
    ...(validations && { "x-kubernetes-validations": validations.map(publicValidation) }),
    ...(validations &&
      node.default !== undefined &&
      defaultOf === undefined && { default: spelledOut(node) }),
    ...(properties && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, child]) => [name, publicSchema(child)]),
      ),
    }),
    ...(items && { items: publicSchema(items) }),
    ...(additionalProperties && { additionalProperties: publicSchema(additionalProperties) }),
  };
}
