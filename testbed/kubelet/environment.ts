/**
 * A container's environment and command as a kubelet makes them: variables from literals, Secrets, ConfigMaps and
 * the Pod itself, variables of Services (unless the Pod declines), and `$(NAME)` expanded.
 */
import type { Container, EnvVar, Pod, Service } from "kubernetes-types/core/v1.d.ts";
import { controlAddress } from "../state.ts";
import type { Image } from "./images.ts";
import { ownAddress } from "./loopback.ts";
import { identity } from "./world.ts";
import type { World } from "./world.ts";

/** The container refers to something that is not there: it is not started, and the Pod says why. */
export class BadContainerConfig extends Error {}

export interface Addresses {
  podIP: string;
  hostIP: string;
}

export function containerEnvironment(
  world: World,
  pod: Pod,
  container: Container,
  image: Image,
  addresses: Addresses,
): Record<string, string> {
  const { namespace, name } = identity(pod);
  const result: Record<string, string> = {
    PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    HOME: "/root",
    ...image.env,
    HOSTNAME: pod.spec?.hostname ?? name,
    KUBERNETES_SERVICE_HOST: controlAddress(world.bed.slot),
    KUBERNETES_SERVICE_PORT: String(world.bed.ports.apiserver),
  };
  if (pod.spec?.enableServiceLinks !== false)
    Object.assign(result, serviceLinks(world.services.values(), namespace));
  for (const { configMapRef, secretRef, prefix = "" } of container.envFrom ?? []) {
    const ref = configMapRef ?? secretRef;
    const object = (configMapRef ? world.configMaps : world.secrets).get(`${namespace}/${ref?.name}`);
    if (!object && !ref?.optional) {
      throw new BadContainerConfig(`${configMapRef ? "configmap" : "secret"} "${ref?.name}" not found`);
    }
    for (const [key, value] of Object.entries((object?.data ?? {}) as Record<string, string>)) {
      result[prefix + key] = configMapRef ? value : Buffer.from(value, "base64").toString();
    }
  }
  for (const variable of container.env ?? []) {
    const value = variableValue(world, pod, container, variable, addresses, result);
    if (value !== undefined) result[variable.name] = ownAddress(value, addresses.podIP);
  }
  return result;
}

/** The command line: the image's unless the container says otherwise, as Docker and Kubernetes combine them. */
export function containerCommand(
  container: Container,
  image: Image,
  env: Record<string, string>,
  podIP: string,
): string[] {
  const entrypoint = container.command ?? image.entrypoint;
  const args = container.args ?? (container.command ? [] : image.cmd);
  return [...entrypoint, ...args].map((part) => ownAddress(expand(part, env), podIP));
}

function variableValue(
  world: World,
  pod: Pod,
  container: Container,
  { name, value, valueFrom }: EnvVar,
  addresses: Addresses,
  sofar: Record<string, string>,
): string | undefined {
  if (!valueFrom) return expand(value ?? "", sofar);
  if (valueFrom.fieldRef) return fieldValue(pod, valueFrom.fieldRef.fieldPath, addresses);
  if (valueFrom.resourceFieldRef) {
    const { resource, divisor, containerName } = valueFrom.resourceFieldRef;
    const of = pod.spec?.containers.find((c) => c.name === containerName) ?? container;
    return resourceValue(of, resource, divisor);
  }
  const { namespace } = identity(pod);
  const ref = valueFrom.secretKeyRef ?? valueFrom.configMapKeyRef;
  const object = (valueFrom.secretKeyRef ? world.secrets : world.configMaps).get(`${namespace}/${ref?.name}`);
  const found = (object?.data as Record<string, string> | undefined)?.[ref?.key ?? ""];
  if (found !== undefined) return valueFrom.secretKeyRef ? Buffer.from(found, "base64").toString() : found;
  if (ref?.optional) return undefined;
  throw new BadContainerConfig(
    `couldn't find key ${ref?.key} in ${namespace}/${ref?.name} for variable ${name}`,
  );
}

/** `$(NAME)` becomes the variable, `$$(NAME)` the text `$(NAME)`; unknown names stay as they are. */
export function expand(text: string, env: Record<string, string>): string {
  return text.replace(/\$\$|\$\(([^)\s]+)\)/g, (whole, name?: string) => {
    if (whole === "$$") return "$";
    return name !== undefined && name in env ? (env[name] ?? "") : whole;
  });
}

/** The downward API's fields. */
export function fieldValue(pod: Pod, path: string, { podIP, hostIP }: Addresses): string {
  const keyed = /^metadata\.(labels|annotations)\['(.+)'\]$/.exec(path);
  if (keyed) return pod.metadata?.[keyed[1] as "labels"]?.[keyed[2] ?? ""] ?? "";
  const list = (map: Record<string, string> | undefined) =>
    Object.entries(map ?? {})
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
      .join("\n");
  switch (path) {
    case "metadata.name":
      return pod.metadata?.name ?? "";
    case "metadata.namespace":
      return pod.metadata?.namespace ?? "";
    case "metadata.uid":
      return pod.metadata?.uid ?? "";
    case "metadata.labels":
      return list(pod.metadata?.labels);
    case "metadata.annotations":
      return list(pod.metadata?.annotations);
    case "spec.nodeName":
      return pod.spec?.nodeName ?? "";
    case "spec.serviceAccountName":
      return pod.spec?.serviceAccountName ?? "";
    case "status.podIP":
    case "status.podIPs":
      return podIP;
    case "status.hostIP":
    case "status.hostIPs":
      return hostIP;
    default:
      throw new BadContainerConfig(`the downward API has no field ${path}`);
  }
}

/** e.g. limits.memory of 512Mi with divisor 1Mi is "512". Without a limit: the node's. */
export function resourceValue(container: Container, resource: string, divisor = "1"): string {
  const [kind, name = ""] = resource.split(".");
  const own = container.resources?.[kind as "limits"]?.[name];
  const fallback = name === "cpu" ? "4" : "8Gi";
  return String(Math.ceil(quantity(own ?? fallback) / (quantity(divisor) || 1)));
}

const UNITS: Record<string, number> = {
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
};

export function quantity(text: string): number {
  const match = /^([\d.]+)(\w*)$/.exec(text);
  return Number(match?.[1] ?? 0) * (UNITS[match?.[2] ?? ""] ?? 1);
}

/** Variables for every Service of the namespace: why a Service named "etcd" breaks an etcd that allows them. */
function serviceLinks(services: Iterable<Service>, namespace: string): Record<string, string> {
  const result: Record<string, string> = {};
  for (const service of services) {
    const ip = service.spec?.clusterIP;
    const first = service.spec?.ports?.[0];
    if (service.metadata?.namespace !== namespace || !ip || ip === "None" || !first) continue;
    const prefix = (service.metadata.name ?? "").toUpperCase().replaceAll("-", "_");
    // The API server's own Service is not reachable here; its variables are set above.
    if (prefix === "KUBERNETES") continue;
    result[`${prefix}_SERVICE_HOST`] = ip;
    result[`${prefix}_SERVICE_PORT`] = String(first.port);
    result[`${prefix}_PORT`] = `${(first.protocol ?? "TCP").toLowerCase()}://${ip}:${first.port}`;
    for (const port of service.spec?.ports ?? []) {
      const protocol = port.protocol ?? "TCP";
      const base = `${prefix}_PORT_${port.port}_${protocol}`;
      if (port.name)
        result[`${prefix}_SERVICE_PORT_${port.name.toUpperCase().replaceAll("-", "_")}`] = String(port.port);
      result[base] = `${protocol.toLowerCase()}://${ip}:${port.port}`;
      result[`${base}_PROTO`] = protocol.toLowerCase();
      result[`${base}_PORT`] = String(port.port);
      result[`${base}_ADDR`] = ip;
    }
  }
  return result;
}
