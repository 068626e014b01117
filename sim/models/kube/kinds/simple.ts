/** Kinds with little of their own: ConfigMap, Secret, Lease, Event, Namespace, Node, StorageClass, volumes, budgets. */
import { normalised } from "../built-in.ts";
import { kindOf, type Kind } from "../kind.ts";
import { items, json, same, type Json } from "../object.ts";
import { causes, type Cause } from "../refusal.ts";
import {
  leaf,
  list,
  map,
  metadataSchema,
  part,
  plain,
  pointer,
  set,
  struct,
  type Schema,
} from "../schema.ts";

const typed = (schema: Schema) => (object: Json) => normalised(schema, object) as Json;

const KEY = /^[-._a-zA-Z0-9]{1,253}$/;

function keysOf(object: Json, ...fields: string[]): readonly Cause[] {
  return fields.flatMap((field) =>
    Object.keys(json(object[field]))
      .filter((key) => !KEY.test(key))
      .map((key) =>
        causes.invalid(
          `${field}[${key}]`,
          key,
          "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
        ),
      ),
  );
}

function immutable(object: Json, old: Json | undefined, ...fields: string[]): readonly Cause[] {
  if (old?.["immutable"] !== true) return [];
  const changed = fields.filter((field) => !same(object[field], old[field]));
  const why = "field is immutable when `immutable` is set";
  const opened = object["immutable"] === true ? [] : ["immutable"];
  return [...opened, ...changed].map((field) => causes.forbidden(field, why));
}

const configMapSchema = struct(
  { metadata: metadataSchema, data: map(), binaryData: map(), immutable: leaf },
  "none",
);

export const configMaps: Kind = kindOf({
  apiVersion: "v1",
  kind: "ConfigMap",
  plural: "configmaps",
  schema: configMapSchema,
  decode: typed(configMapSchema),
  check: (object, old) => [
    ...keysOf(object, "data", "binaryData"),
    ...immutable(object, old, "data", "binaryData"),
  ],
});

const secretSchema = struct(
  { metadata: metadataSchema, data: map(), stringData: map(), type: plain, immutable: leaf },
  "none",
);

export const secrets: Kind = kindOf({
  apiVersion: "v1",
  kind: "Secret",
  plural: "secrets",
  schema: secretSchema,
  selectable: { type: (object) => String(object["type"] ?? "") },
  decode(object) {
    const { stringData, ...rest } = typed(secretSchema)(object);
    const written = Object.entries(json(stringData)).map(([name, text]) => [
      name,
      Buffer.from(String(text)).toString("base64"),
    ]);
    const data = { ...json(rest["data"]), ...Object.fromEntries(written) };
    return { ...rest, ...(Object.keys(data).length > 0 && { data }), type: rest["type"] ?? "Opaque" };
  },
  check: (object, old) => [
    ...keysOf(object, "data"),
    ...(old && object["type"] !== old["type"]
      ? [causes.invalid("type", object["type"], "field is immutable")]
      : []),
    ...immutable(object, old, "data"),
  ],
});

const leaseSchema = struct({ metadata: metadataSchema, spec: part({}, leaf) }, "none");

export const leases: Kind = kindOf({
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  plural: "leases",
  schema: leaseSchema,
  zero: { spec: {} },
  unconditional: false,
  createsOnUpdate: true,
  decode: typed(leaseSchema),
  check({ spec }) {
    const { leaseDurationSeconds: seconds, leaseTransitions: transitions } = json(spec);
    return [
      ...(seconds !== undefined && Number(seconds) <= 0
        ? [causes.invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0")]
        : []),
      ...(transitions !== undefined && Number(transitions) < 0
        ? [causes.invalid("spec.leaseTransitions", transitions, "must be greater than or equal to 0")]
        : []),
    ];
  },
});

const eventSchema = struct(
  {
    metadata: metadataSchema,
    regarding: plain,
    related: leaf,
    series: struct({}, leaf),
    deprecatedSource: part({}, leaf),
    deprecatedCount: plain,
  },
  plain,
);

/** What of an event never changes, and what the server calls it when it says so. */
const EVENT_FIELDS = [
  ["regarding", "involvedObject"],
  ["reason", "reason"],
  ["note", "message"],
  ["type", "type"],
  ["eventTime", "eventTime"],
  ["action", "action"],
  ["related", "related"],
  ["reportingController", "reportingController"],
  ["reportingInstance", "reportingInstance"],
] as const;

export const events: Kind = kindOf({
  apiVersion: "events.k8s.io/v1",
  kind: "Event",
  plural: "events",
  schema: eventSchema,
  zero: {
    deprecatedSource: {},
    regarding: {},
    eventTime: null,
    deprecatedFirstTimestamp: null,
    deprecatedLastTimestamp: null,
  },
  createsOnUpdate: true,
  collected: false,
  decode: (object) => ({
    ...typed(eventSchema)(object),
    deprecatedFirstTimestamp: object["deprecatedFirstTimestamp"] ?? null,
    deprecatedLastTimestamp: object["deprecatedLastTimestamp"] ?? null,
  }),
  check(object, old) {
    const { namespace = "" } = json(object["regarding"]);
    const found: Cause[] = [];
    for (const [field, name] of EVENT_FIELDS)
      if (old && !same(object[field], old[field]))
        found.push(causes.invalid(name, object[field], "field is immutable"));
    if (namespace === "" && object.metadata.namespace !== "default")
      found.push(causes.invalid("involvedObject.namespace", namespace, "does not match event.namespace"));
    if (old) return found;
    if (object["eventTime"] === undefined) found.push(causes.required("eventTime"));
    if (!["Normal", "Warning"].includes(String(object["type"])))
      found.push(causes.invalid("type", object["type"], "has invalid value"));
    return found;
  },
});

const namespaceSchema = struct(
  {
    metadata: metadataSchema,
    spec: part({ finalizers: leaf }),
    status: part({ conditions: list(["type"]) }),
  },
  "none",
);

export const namespaces: Kind = kindOf({
  apiVersion: "v1",
  kind: "Namespace",
  plural: "namespaces",
  namespaced: false,
  schema: namespaceSchema,
  zero: { spec: {}, status: {} },
  hasStatus: true,
  answersDeleted: true,
  decode: typed(namespaceSchema),
  prepare(object, old) {
    if (old) return { ...object, spec: old["spec"], status: old["status"] };
    const metadata = json(object["metadata"]);
    const labels = { ...json(metadata["labels"]), "kubernetes.io/metadata.name": metadata["name"] };
    return {
      ...object,
      metadata: { ...metadata, labels },
      spec: { finalizers: ["kubernetes"] },
      status: { phase: "Active" },
    };
  },
});

const nodeSchema = struct(
  {
    metadata: metadataSchema,
    spec: part({ podCIDRs: set, taints: leaf, unschedulable: plain }),
    status: part({
      addresses: list(["type"]),
      conditions: list(["type"]),
      daemonEndpoints: part({ kubeletEndpoint: part({}) }),
      nodeInfo: part({}),
      images: leaf,
    }),
  },
  "none",
);

const NODE_INFO = [
  "machineID",
  "systemUUID",
  "bootID",
  "kernelVersion",
  "osImage",
  "containerRuntimeVersion",
  "kubeletVersion",
  "kubeProxyVersion",
  "operatingSystem",
  "architecture",
];
const EMPTY_NODE = {
  daemonEndpoints: { kubeletEndpoint: { Port: 0 } },
  nodeInfo: Object.fromEntries(NODE_INFO.map((name) => [name, ""])),
};

export const nodes: Kind = kindOf({
  apiVersion: "v1",
  kind: "Node",
  plural: "nodes",
  namespaced: false,
  schema: nodeSchema,
  zero: { spec: {}, status: EMPTY_NODE },
  hasStatus: true,
  selectable: { "spec.unschedulable": ({ spec }) => String(json(spec)["unschedulable"] ?? false) },
  decode(object) {
    const node = typed(nodeSchema)(object);
    const status = json(node["status"]);
    const nodeInfo = { ...EMPTY_NODE.nodeInfo, ...json(status["nodeInfo"]) };
    const { kubeletEndpoint } = json(status["daemonEndpoints"]);
    const daemonEndpoints = { kubeletEndpoint: { Port: 0, ...json(kubeletEndpoint) } };
    const conditions = items(status["conditions"]).map((one) => ({
      lastHeartbeatTime: null,
      lastTransitionTime: null,
      ...one,
    }));
    return {
      ...node,
      status: { ...status, daemonEndpoints, nodeInfo, ...(conditions.length > 0 && { conditions }) },
    };
  },
  admit(object) {
    const spec = json(object["spec"]);
    const taint = { key: "node.kubernetes.io/not-ready", effect: "NoSchedule" };
    return { ...object, spec: { ...spec, taints: [...items(spec["taints"]), taint] } };
  },
});

const storageClassSchema = struct(
  { metadata: metadataSchema, parameters: map(), mountOptions: leaf, allowedTopologies: leaf },
  leaf,
);

export const storageClasses: Kind = kindOf({
  apiVersion: "storage.k8s.io/v1",
  kind: "StorageClass",
  plural: "storageclasses",
  namespaced: false,
  schema: storageClassSchema,
  zero: { provisioner: "" },
  answersDeleted: true,
  decode: (object) => ({
    reclaimPolicy: "Delete",
    volumeBindingMode: "Immediate",
    ...typed(storageClassSchema)(object),
  }),
  check: (object, old) => [
    ...(object["provisioner"] ? [] : [causes.required("provisioner")]),
    ...(old ? ["provisioner", "parameters", "reclaimPolicy", "volumeBindingMode"] : [])
      .filter((field) => !same(object[field], old?.[field]))
      .map((field) => causes.invalid(field, object[field], "field is immutable")),
  ],
});

const volumeSchema = struct(
  { metadata: metadataSchema, spec: part({ capacity: map(), claimRef: struct({}, leaf) }), status: part({}) },
  "none",
);

export const volumes: Kind = kindOf({
  apiVersion: "v1",
  kind: "PersistentVolume",
  plural: "persistentvolumes",
  namespaced: false,
  schema: volumeSchema,
  zero: { spec: {}, status: {} },
  hasStatus: true,
  answersDeleted: true,
  decode: typed(volumeSchema),
});

const budgetSchema = struct(
  {
    metadata: metadataSchema,
    spec: part({
      selector: pointer,
      minAvailable: leaf,
      maxUnavailable: leaf,
      unhealthyPodEvictionPolicy: leaf,
    }),
    status: part({ conditions: list(["type"]), disruptedPods: map() }),
  },
  "none",
);

const NO_DISRUPTIONS = { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 };

export const budgets: Kind = kindOf({
  apiVersion: "policy/v1",
  kind: "PodDisruptionBudget",
  plural: "poddisruptionbudgets",
  schema: budgetSchema,
  zero: { spec: {}, status: NO_DISRUPTIONS },
  hasStatus: true,
  counts: true,
  unconditional: false,
  decode(object) {
    const decoded = typed(budgetSchema)(object);
    const spec = json(decoded["spec"]);
    const { matchLabels, ...selector } = json(spec["selector"]);
    const empty = same(matchLabels, {});
    return {
      ...decoded,
      ...(empty && { spec: { ...spec, selector } }),
      status: { ...NO_DISRUPTIONS, ...json(decoded["status"]) },
    };
  },
  prepare: (object, old) => (old ? object : { ...object, status: NO_DISRUPTIONS }),
  check({ spec }) {
    const { minAvailable, maxUnavailable } = json(spec);
    if (minAvailable === undefined || maxUnavailable === undefined) return [];
    return [causes.invalid("spec", spec, "minAvailable and maxUnavailable cannot be both set")];
  },
});

const policySchema = struct({ metadata: metadataSchema, spec: struct({}, leaf) }, "none");

export const networkPolicies: Kind = kindOf({
  apiVersion: "networking.k8s.io/v1",
  kind: "NetworkPolicy",
  plural: "networkpolicies",
  schema: policySchema,
  zero: { spec: {} },
  counts: true,
  decode: typed(policySchema),
});

const accountSchema = struct(
  {
    metadata: metadataSchema,
    secrets: list(["name"]),
    imagePullSecrets: leaf,
    automountServiceAccountToken: leaf,
  },
  "none",
);

export const serviceAccounts: Kind = kindOf({
  apiVersion: "v1",
  kind: "ServiceAccount",
  plural: "serviceaccounts",
  schema: accountSchema,
  answersDeleted: true,
  decode: typed(accountSchema),
});
