/** What a container and a volume of a Pod have when nobody said otherwise. */
import { quantity } from "../built-in.ts";
import { items, json, type Json } from "../object.ts";

export function containerDefaults(container: Json): Json {
  const image = String(container["image"] ?? "");
  const ports = items(container["ports"]).map((port) => ({ protocol: "TCP", ...port }));
  const env = items(container["env"]).map(variable);
  const out: Record<string, unknown> = {
    terminationMessagePath: "/dev/termination-log",
    terminationMessagePolicy: "File",
    imagePullPolicy: pullPolicy(image),
    ...container,
    resources: resources(json(container["resources"])),
  };
  if (ports.length > 0) out["ports"] = ports;
  if (env.length > 0) out["env"] = env;
  for (const name of ["startupProbe", "livenessProbe", "readinessProbe"])
    if (container[name] !== undefined) out[name] = probe(json(container[name]));
  return out;
}

function pullPolicy(image: string): string {
  const tag = /(?::([^/:@]+))?(@.*)?$/.exec(image);
  if (tag?.[2] !== undefined) return "IfNotPresent";
  return (tag?.[1] ?? "latest") === "latest" ? "Always" : "IfNotPresent";
}

/** A limit without a request is a request too. */
function resources(given: Json): Json {
  const amounts = (value: unknown) =>
    Object.fromEntries(Object.entries(json(value)).map(([name, one]) => [name, quantity(one)]));
  const limits = amounts(given["limits"]);
  const requests = { ...limits, ...amounts(given["requests"]) };
  return {
    ...given,
    ...(Object.keys(limits).length > 0 && { limits }),
    ...(Object.keys(requests).length > 0 && { requests }),
  };
}

function variable(env: Json): Json {
  const from = json(env["valueFrom"]);
  if (from["fieldRef"] === undefined) return env;
  return { ...env, valueFrom: { ...from, fieldRef: { apiVersion: "v1", ...json(from["fieldRef"]) } } };
}

function probe(given: Json): Json {
  const get = given["httpGet"];
  return {
    timeoutSeconds: 1,
    periodSeconds: 10,
    successThreshold: 1,
    failureThreshold: 3,
    ...given,
    ...(get !== undefined && { httpGet: { path: "/", scheme: "HTTP", ...json(get) } }),
  };
}

const MODE = 420;

export function volumeDefaults(volume: Json): Json {
  const filled: Record<string, unknown> = { ...volume };
  for (const name of ["secret", "configMap", "downwardAPI", "projected"])
    if (volume[name] !== undefined) filled[name] = { defaultMode: MODE, ...json(volume[name]) };
  if (volume["hostPath"] !== undefined) filled["hostPath"] = { type: "", ...json(volume["hostPath"]) };
  const sources = Object.keys(volume).filter((name) => name !== "name");
  if (sources.length === 0) filled["emptyDir"] = {};
  return filled;
}
