/** Services: defaults, addresses that are given once and kept. */
import { normalised } from "../built-in.ts";
import { kindOf, type Kind, type Surroundings } from "../kind.ts";
import { items, json, same, type Json, type KubeJson } from "../object.ts";
import { causes, invalid, type Cause } from "../refusal.ts";
import { leaf, list, metadataSchema, part, plain, struct } from "../schema.ts";

const schema = struct(
  {
    metadata: metadataSchema,
    spec: part({
      ports: list(["port", "protocol"], struct({ nodePort: plain }, leaf), { protocol: "TCP" }),
      selector: leaf,
      clusterIP: plain,
      clusterIPs: leaf,
      ipFamilies: leaf,
      externalIPs: leaf,
      publishNotReadyAddresses: plain,
    }),
    status: part({ loadBalancer: part({ ingress: leaf }), conditions: list(["type"]) }),
  },
  "none",
);

function decode(object: Json): Json {
  const service = normalised(schema, object) as Json;
  const spec = json(service["spec"]);
  const { type = "ClusterIP", sessionAffinity = "None" } = spec;
  const ports = items(spec["ports"]).map((port) => ({
    protocol: "TCP",
    targetPort: port["port"],
    ...port,
  }));
  const external = type === "LoadBalancer" || type === "NodePort";
  const status = json(service["status"]);
  const balancer = json(status["loadBalancer"]);
  const ingress = items(balancer["ingress"]).map((one) => ({
    ...(one["ip"] !== undefined && { ipMode: "VIP" }),
    ...one,
  }));
  return {
    ...service,
    ...(ingress.length > 0 &&
      type === "LoadBalancer" && { status: { ...status, loadBalancer: { ...balancer, ingress } } }),
    spec: {
      ...spec,
      ...(ports.length > 0 && { ports }),
      type,
      sessionAffinity,
      ...(type !== "ExternalName" && { internalTrafficPolicy: spec["internalTrafficPolicy"] ?? "Cluster" }),
      ...(external && { externalTrafficPolicy: spec["externalTrafficPolicy"] ?? "Cluster" }),
      ...(type === "LoadBalancer" && {
        allocateLoadBalancerNodePorts: spec["allocateLoadBalancerNodePorts"] ?? true,
      }),
    },
  };
}

const SINGLE_STACK: readonly Cause[] = [
  causes.invalid(
    "spec.ipFamilyPolicy",
    "RequireDualStack",
    "this cluster is not configured for dual-stack services",
  ),
  causes.invalid("spec.ipFamilies[1]", "IPv6", "not configured on this cluster"),
];

/** Fields that are dropped when the type changes to one without them, unless they were changed with it. */
const OF_TYPES: Readonly<Record<string, readonly string[]>> = {
  externalTrafficPolicy: ["NodePort", "LoadBalancer"],
  allocateLoadBalancerNodePorts: ["LoadBalancer"],
  loadBalancerClass: ["LoadBalancer"],
};

/** Addresses and ports that the server gives when nobody has asked for some. */
function prepare(object: Json, old: KubeJson | undefined, surroundings: Surroundings): Json {
  const before = json(old?.["spec"]);
  const spec = json(object["spec"]);
  const kept: Record<string, unknown> = { ...spec };
  for (const field of ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"])
    if (spec[field] === undefined && before[field] !== undefined) kept[field] = before[field];
  if (old && kept["clusterIP"] !== before["clusterIP"]) kept["clusterIPs"] = [kept["clusterIP"]];
  const asked = kept["clusterIP"];
  if (!old && typeof asked === "string" && asked !== "None" && surroundings.isTaken(asked))
    throw invalid(services, String(json(object["metadata"])["name"]), [
      causes.invalid(
        "spec.clusterIPs",
        [asked],
        `failed to allocate IP ${asked}: provided IP is already allocated`,
      ),
    ]);
  kept["clusterIP"] ??= surroundings.clusterIP();
  kept["clusterIPs"] ??= [kept["clusterIP"]];
  // Who gives the addresses of a Service itself may give any.
  const any = kept["clusterIP"] === "None" && kept["selector"] === undefined;
  kept["ipFamilies"] ??= any ? ["IPv4", "IPv6"] : ["IPv4"];
  kept["ipFamilyPolicy"] ??= any ? "RequireDualStack" : "SingleStack";
  if (old && !any && (kept["ipFamilies"] as readonly string[]).includes("IPv6"))
    throw invalid(services, old.metadata.name, SINGLE_STACK);
  const external = kept["type"] === "LoadBalancer" || kept["type"] === "NodePort";
  // What came with an outer type goes with it.
  for (const [field, types] of Object.entries(OF_TYPES))
    if (!types.includes(String(kept["type"])) && old && same(kept[field], before[field])) delete kept[field];
  if (!external && before["type"] !== kept["type"] && old)
    kept["ports"] = items(kept["ports"]).map((port) => {
      const { nodePort: _, ...inner } = port;
      return inner;
    });
  if (external) {
    const known = new Map(items(before["ports"]).map((port) => [portKey(port), port["nodePort"]]));
    kept["ports"] = items(kept["ports"]).map((port) => ({
      ...port,
      nodePort: port["nodePort"] ?? known.get(portKey(port)) ?? surroundings.nodePort(),
    }));
  }
  return { ...object, spec: kept, status: old ? object["status"] : { loadBalancer: {} } };
}

const portKey = (port: Json) => `${String(port["protocol"])} ${String(port["port"])}`;

function check(object: KubeJson, old: KubeJson | undefined): readonly Cause[] {
  const spec = json(object["spec"]);
  const before = json(old?.["spec"]);
  const ports = items(spec["ports"]);
  const found: Cause[] = [];
  if (ports.length === 0 && spec["clusterIP"] !== "None") found.push(causes.required("spec.ports"));
  const names = new Set<unknown>();
  for (const [i, port] of ports.entries()) {
    const number = Number(port["port"]);
    if (ports.length > 1 && port["name"] === undefined) found.push(causes.required(`spec.ports[${i}].name`));
    if (port["name"] !== undefined && names.has(port["name"]))
      found.push({
        reason: "FieldValueDuplicate",
        message: "Duplicate value",
        field: `spec.ports[${i}].name`,
      });
    names.add(port["name"]);
    if (number < 1 || number > 65_535)
      found.push(
        causes.invalid(`spec.ports[${i}].port`, port["port"], "must be between 1 and 65535, inclusive"),
        causes.invalid(
          `spec.ports[${i}].targetPort`,
          port["targetPort"],
          "must be between 1 and 65535, inclusive",
        ),
      );
  }
  if (!["None", "ClientIP"].includes(String(spec["sessionAffinity"])))
    found.push(causes.unsupported("spec.sessionAffinity", "Unsupported value"));
  const [address] = (spec["clusterIPs"] as readonly unknown[] | undefined) ?? [];
  if (!old && address !== spec["clusterIP"])
    found.push(causes.invalid("spec.clusterIPs", spec["clusterIPs"], "first value must match `clusterIP`"));
  if (old && !same(spec["clusterIPs"], before["clusterIPs"]))
    found.push(causes.invalid("spec.clusterIPs[0]", spec["clusterIPs"], "may not change once set"));
  if (
    items(json(json(object["status"])["loadBalancer"])["ingress"]).length > 0 &&
    spec["type"] !== "LoadBalancer"
  )
    found.push(
      causes.forbidden("status.loadBalancer.ingress", "may only be used when `spec.type` is 'LoadBalancer'"),
    );
  return found;
}

export const services: Kind = kindOf({
  apiVersion: "v1",
  kind: "Service",
  plural: "services",
  schema,
  zero: { spec: {}, status: { loadBalancer: {} } },
  hasStatus: true,
  createsOnUpdate: true,
  answersDeleted: true,
  selectable: {
    "spec.clusterIP": ({ spec }) => String(json(spec)["clusterIP"] ?? ""),
    "spec.type": ({ spec }) => String(json(spec)["type"] ?? ""),
  },
  decode,
  prepare,
  check,
});
