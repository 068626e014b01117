/**
 * The resources of our own: pruned and filled in by their definition's schema, checked by the same rules that the
 * definition states in CEL, in their TypeScript form.
 */
import { publicSchema, resourceSchema, type SchemaNode } from "../../../../src/api/json-schema.ts";
import { etcdClusterStatusSchema } from "../../../../src/api/etcd-cluster-status.ts";
import { etcdMemberStatusSchema } from "../../../../src/api/etcd-member.ts";
import { authObjectStatusSchema } from "../../../../src/api/auth-object.ts";
import { etcdOperationStatusSchema } from "../../../../src/api/etcd-operation.ts";
import { etcdSnapshotScheduleStatusSchema } from "../../../../src/api/etcd-snapshot-schedule.ts";
import { etcdUserStatusSchema } from "../../../../src/api/etcd-user.ts";
import { etcdSnapshotStatusSchema } from "../../../../src/api/etcd-snapshot.ts";
import { API_VERSION } from "../../../../src/api/metadata.ts";
import { joinPath } from "../../../../src/api/path.ts";
import { resources, type Resource } from "../../../../src/api/resources.ts";
import { validator, type ApiError, type Validated } from "../../../../src/api/validate.ts";
import { normalised } from "../built-in.ts";
import { kindOf, type Kind } from "../kind.ts";
import { isJson, json, same, type Json, type KubeJson } from "../object.ts";
import type { Cause } from "../refusal.ts";
import { metadataSchema, schemaOf, struct } from "../schema.ts";

/** A status alone is checked alone: most writes are about nothing else. */
const STATUS: Readonly<Record<string, Resource["schema"]>> = {
  EtcdCluster: etcdClusterStatusSchema,
  EtcdMember: etcdMemberStatusSchema,
  EtcdOperation: etcdOperationStatusSchema,
  EtcdSnapshot: etcdSnapshotStatusSchema,
  EtcdSnapshotSchedule: etcdSnapshotScheduleStatusSchema,
  EtcdUser: etcdUserStatusSchema,
  EtcdRole: authObjectStatusSchema,
};

export const ours: readonly Kind[] = resources.map(ourKind);

function ourKind(resource: Resource): Kind {
  const root = publicSchema(resourceSchema(resource.schema).schema);
  const spec = root.properties?.["spec"] ?? {};
  const status = root.properties?.["status"] ?? {};
  const rules = validator(resource.schema);
  const statusSchema = STATUS[resource.kind];
  const statusRules = statusSchema && validator(statusSchema);
  return kindOf({
    apiVersion: API_VERSION,
    kind: resource.kind,
    plural: resource.plural,
    schema: struct({ metadata: metadataSchema, spec: schemaOf(spec), status: schemaOf(status) }, "none"),
    builtIn: false,
    hasStatus: true,
    hasScale: resource.scale !== undefined,
    counts: true,
    unconditional: false,
    statusKeepsMetadata: true,
    // The default of the status is filled in when it is read, and stored only with the first write after its making.
    restless: status.default !== undefined,
    decode(object) {
      const out: Record<string, unknown> = {
        apiVersion: object["apiVersion"],
        kind: object["kind"],
        metadata: normalised(metadataSchema, object["metadata"]),
      };
      if (object["spec"] !== undefined) out["spec"] = decoded(spec, object["spec"]);
      const reported = object["status"] ?? status.default;
      if (reported !== undefined) out["status"] = decoded(status, reported);
      return out;
    },
    prepare(object, old) {
      if (old) return object;
      // What a manifest says of the status is dropped; its default is filled in again when it is read.
      const { status: _, ...rest } = object;
      return status.default === undefined ? rest : { ...rest, status: status.default };
    },
    check(object, old) {
      const [kept, reported] = [old && same(object["spec"], old["spec"]), object["status"]];
      if (kept && (reported === undefined || same(reported, old?.["status"]))) return [];
      if (kept && statusRules) return statusCauses(statusRules.validate(reported));
      // What is of the server in metadata is not the schema's business.
      const plain = (given: KubeJson) => ({ ...given, metadata: { name: given.metadata.name } });
      const found = rules.validate(plain(object), old && (plain(old) as never));
      return found.ok ? [] : complete(found.errors.map(cause));
    },
  });
}

function statusCauses(found: Validated<unknown>): readonly Cause[] {
  if (found.ok) return [];
  return complete(found.errors.map((one) => cause({ ...one, path: joinPath("status", one.path) })));
}

function complete(reported: readonly Cause[]): readonly Cause[] {
  return reported.some(({ reason }) => BLOCKING.has(reason)) ? [...reported, NOT_ALL] : reported;
}

/** Pruned and filled in. What was so once is left as it is: patches share what they do not touch. */
function decoded(node: SchemaNode, value: unknown): unknown {
  if (typeof value === "object" && value !== null && finished.has(value)) return value;
  const out = filled(node, pruned(node, value));
  if (typeof out === "object" && out !== null) finished.add(out);
  return out;
}

const finished = new WeakSet<object>();

/** Without what the schema does not know. */
function pruned(node: SchemaNode, value: unknown): unknown {
  if (Array.isArray(value)) {
    const { items: of } = node;
    return of ? value.map((item: unknown) => pruned(of, item)) : value;
  }
  if (!isJson(value)) return value;
  const out: Record<string, unknown> = {};
  for (const [name, child] of Object.entries(value)) {
    const known = node.properties?.[name] ?? node.additionalProperties;
    if (known) out[name] = pruned(known, child);
    else if (node["x-kubernetes-preserve-unknown-fields"]) out[name] = child;
  }
  return out;
}

function filled(node: SchemaNode, value: unknown): unknown {
  if (Array.isArray(value)) {
    const { items: of } = node;
    return of ? value.map((item: unknown) => filled(of, item)) : value;
  }
  if (!isJson(value)) return value;
  const out: Record<string, unknown> = { ...value };
  for (const [name, child] of Object.entries(node.properties ?? {})) {
    // A default is filled in itself; null stands for it where there is one.
    if ((out[name] === undefined || out[name] === null) && child.default !== undefined)
      out[name] = child.default;
    if (out[name] !== undefined) out[name] = filled(child, out[name]);
  }
  const { additionalProperties: of } = node;
  if (of)
    for (const name of Object.keys(out)) if (!node.properties?.[name]) out[name] = filled(of, out[name]);
  return out;
}

function cause({ path, message }: ApiError): Cause {
  // A rule of a resource definition cannot name a field of metadata.
  const field = path.startsWith("metadata.") ? "<nil>" : path;
  return { reason: reasonOf(message), message, field };
}

/** Rules are not asked about an object whose shape is wrong, and the server says so. */
const BLOCKING = new Set([
  "FieldValueRequired",
  "FieldValueNotSupported",
  "FieldValueTooLong",
  "FieldValueTooMany",
  "FieldValueTypeInvalid",
]);
const NOT_ALL: Cause = {
  reason: "FieldValueInvalid",
  message: "Invalid value: null: some validation rules were not checked because the object was invalid",
  field: "<nil>",
};

function reasonOf(message: string): string {
  if (message.startsWith("Required value")) return "FieldValueRequired";
  if (message.startsWith("Unsupported value")) return "FieldValueNotSupported";
  if (message.startsWith("Too long")) return "FieldValueTooLong";
  if (message.startsWith("Too many")) return "FieldValueTooMany";
  if (message.startsWith("must be of type")) return "FieldValueTypeInvalid";
  return "FieldValueInvalid";
}

/** The scale of an object, as autoscalers see it. */
export function scaleOf(object: KubeJson): Json {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const status = json(object["status"]);
  const replicas = json(object["spec"])["replicas"];
  return {
    kind: "Scale",
    apiVersion: "autoscaling/v1",
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    spec: replicas === 0 ? {} : { replicas },
    status: {
      replicas: status["replicas"] ?? 0,
      ...(status["selector"] !== undefined && { selector: status["selector"] }),
    },
  };
}
