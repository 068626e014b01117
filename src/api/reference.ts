/**
 * The reference page of a resource, in Markdown: every field with type, default and meaning, and the
 * rules in the words of their messages.
 */
import { resourceSchema, type SchemaNode } from "./json-schema.ts";
import { API_VERSION, CATEGORY } from "./metadata.ts";
import { joinPath } from "./path.ts";
import type { Resource } from "./resources.ts";

export function referencePage(resource: Resource): string {
  const { schema } = resourceSchema(resource.schema);
  const part = (name: "spec" | "status"): string[] => {
    const node = schema.properties?.[name];
    return node ? [`## ${name}`, "", node.description ?? "", "", ...tables(node, name)] : [];
  };
  const names = [...resource.shortNames, CATEGORY].map((name) => `\`${name}\``).join(", ");
  return [
    `# ${resource.kind}`,
    "",
    "<!-- Generated from the schema in src/api by `npm run generate`. Do not edit. -->",
    "",
    resource.summary,
    "",
    `\`apiVersion: ${API_VERSION}\`, namespaced. Short names and category for kubectl: ${names}.`,
    "",
    "```yaml",
    resource.example.trimEnd(),
    "```",
    "",
    ...part("spec"),
    "## Rules",
    "",
    "Checked by the API server when an object is written, and by `quorate local` for the same manifest:",
    "",
    ...ruleList(schema),
    "",
    ...part("status"),
  ]
    .join("\n")
    .replace(/\n*$/, "\n");
}

/** One table for an object, then one for each object in it. */
function tables(node: SchemaNode, path: string): string[] {
  const fields = Object.entries(node.properties ?? {});
  const rows = fields.map(([name, field]) => {
    const required = node.required?.includes(name) ?? false;
    const meaning = [field.description ?? "", field.kubernetesOnly ? "*Kubernetes only.*" : ""]
      .join(" ")
      .trim();
    return `| \`${name}\` | ${typeText(field)} | ${defaultText(field, required)} | ${cell(meaning)} |`;
  });
  const nested = fields.flatMap(([name, field]) => {
    const [child, suffix] = objectIn(field);
    const childPath = `${joinPath(path, name)}${suffix}`;
    return child ? [`### ${childPath}`, "", ...tables(child, childPath)] : [];
  });
  return ["| field | type | default | meaning |", "| --- | --- | --- | --- |", ...rows, "", ...nested];
}

/** The object that a field is, or holds a list or a map of. */
function objectIn(node: SchemaNode): [SchemaNode | undefined, string] {
  if (node.kubernetesType !== undefined) return [undefined, ""];
  if (Object.keys(node.properties ?? {}).length > 0) return [node, ""];
  if (node.items) {
    const [child, suffix] = objectIn(node.items);
    return [child, `[]${suffix}`];
  }
  return [undefined, ""];
}

function typeText(node: SchemaNode): string {
  if (node.kubernetesType !== undefined) return `Kubernetes ${node.kubernetesType}`;
  if (node.enum) return node.enum.map((value) => `\`${String(value)}\``).join(", ");
  if (node["x-kubernetes-int-or-string"]) return "integer or string";
  if (node.items) return `list of ${typeText(node.items)}`;
  if (node.additionalProperties) return `map of ${typeText(node.additionalProperties)}`;
  if (node.format === "date-time") return "time";
  const { minimum, maximum } = node;
  if (minimum !== undefined && maximum !== undefined) return `${node.type} ${minimum}…${maximum}`;
  return node.type ?? "any";
}

function defaultText(node: SchemaNode, required: boolean): string {
  if (required) return "required";
  const isEmpty = node.default === undefined || ["{}", "[]"].includes(JSON.stringify(node.default));
  return isEmpty
    ? ""
    : `\`${typeof node.default === "string" ? node.default : JSON.stringify(node.default)}\``;
}

const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("<", "&lt;");

/** Rules by message: those of every duration, say, are listed once with all their fields. */
function ruleList(schema: SchemaNode): string[] {
  const fields = new Map<string, string[]>();
  for (const { path, message } of rules(schema, "")) {
    fields.set(message, [...(fields.get(message) ?? []), ...(path === "" ? [] : [`\`${path}\``])]);
  }
  return [...fields].map(
    ([message, paths]) => `- ${paths.length === 0 ? "" : `${paths.join(", ")}: `}${message}`,
  );
}

function rules(node: SchemaNode, path: string): { path: string; message: string }[] {
  const own = (node["x-kubernetes-validations"] ?? []).map(({ message, fieldPath }) => ({
    path: `${path}${fieldPath ?? ""}`.replace(/^\./, ""),
    message,
  }));
  const inner = Object.entries(node.properties ?? {}).flatMap(([name, child]) =>
    name === "status" ? [] : rules(child, joinPath(path, name)),
  );
  const items = node.items ? rules(node.items, `${path}[]`) : [];
  const values = node.additionalProperties ? rules(node.additionalProperties, `${path}[]`) : [];
  return [...own, ...inner, ...items, ...values];
}
