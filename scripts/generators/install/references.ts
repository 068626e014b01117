/**
 * The fields by which a resource of ours names Secrets, volumes and service accounts of its namespace, found in its
 * schema: a field that is added later needs no line here to be guarded.
 */
import { resourceSchema, type SchemaNode } from "../../../src/api/json-schema.ts";
import type { Resource } from "../../../src/api/resources.ts";

export interface Reference {
  /** Below `spec`, such as `destination.s3.credentialsSecret`. */
  readonly path: string;
  readonly to: "Secret" | "PersistentVolumeClaim" | "ServiceAccount";
}

/** Not those in lists, which no single path names. */
export function referencesOf({ schema }: Pick<Resource, "schema">): Reference[] {
  const spec = resourceSchema(schema).schema.properties?.["spec"];
  return spec ? [...walk(spec, [])] : [];
}

function* walk(node: SchemaNode, path: readonly string[]): Generator<Reference> {
  for (const [name, child] of Object.entries(node.properties ?? {})) {
    const here = [...path, name];
    const to = child.type === "string" ? target(name, path.at(-1)) : undefined;
    if (to !== undefined) yield { path: here.join("."), to };
    yield* walk(child, here);
  }
}

function target(name: string, parent: string | undefined): Reference["to"] | undefined {
  if (name.endsWith("Secret") || parent === "secrets") return "Secret";
  if (name === "claimName") return "PersistentVolumeClaim";
  return name === "serviceAccountName" ? "ServiceAccount" : undefined;
}
