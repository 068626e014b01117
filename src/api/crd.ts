/**
 * The CustomResourceDefinition of a resource, made from its schema.
 */
import { publicSchema, resourceSchema, type SchemaNode } from "./json-schema.ts";
import { CATEGORY, GROUP, VERSION } from "./metadata.ts";
import type { Resource } from "./resources.ts";

export function customResourceDefinition(resource: Resource): object {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${resource.plural}.${GROUP}` },
    spec: {
      group: GROUP,
      scope: "Namespaced",
      names: {
        kind: resource.kind,
        listKind: `${resource.kind}List`,
        plural: resource.plural,
        singular: resource.singular,
        shortNames: resource.shortNames,
        categories: [CATEGORY],
      },
      versions: [
        {
          name: VERSION,
          served: true,
          storage: true,
          additionalPrinterColumns: resource.columns,
          subresources: { status: {}, ...(resource.scale && { scale: resource.scale }) },
          schema: { openAPIV3Schema: rootSchema(resource) },
        },
      ],
    },
  };
}

/** The API server owns apiVersion, kind and metadata: a resource definition may only name them. */
function rootSchema(resource: Resource): SchemaNode {
  const root = publicSchema(resourceSchema(resource.schema).schema);
  return {
    description: resource.summary,
    ...root,
    required: ["spec"],
    properties: {
      ...root.properties,
      apiVersion: { type: "string" },
      kind: { type: "string" },
      metadata: { type: "object" },
    },
  };
}
