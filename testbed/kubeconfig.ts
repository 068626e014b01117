/**
 * Kubeconfig files: written for a testbed's own API server, read for a cluster that the user has.
 */
import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { parse, stringify } from "yaml";

/** What a client needs to talk to an API server. */
export interface Access {
  server: string;
  ca?: string;
  token?: string;
  cert?: string;
  key?: string;
  serverName?: string;
  insecure?: boolean;
}

export function kubeconfigText(name: string, access: Access): string {
  return stringify(kubeconfig(name, access));
}

export function kubeconfig(name: string, access: Access): object {
  const base64 = (text: string) => Buffer.from(text).toString("base64");
  return {
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      { name, cluster: { server: access.server, "certificate-authority-data": base64(access.ca ?? "") } },
    ],
    users: [{ name, user: { token: access.token } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    "current-context": name,
  };
}

type Named<K extends string, T> = { name: string } & Partial<Record<K, T>>;

interface Config {
  clusters?: Named<"cluster", Record<string, string | boolean>>[];
  users?: Named<"user", Record<string, unknown>>[];
  contexts?: Named<"context", { cluster: string; user: string }>[];
  "current-context"?: string;
}

export function readKubeconfig(path: string, context?: string): Access & { context: string } {
  const config = parse(readFileSync(path, "utf8")) as Config | null;
  const wanted = context ?? config?.["current-context"];
  const chosen = config?.contexts?.find((c) => c.name === wanted)?.context;
  if (!config || !wanted || !chosen) {
    const known = config?.contexts?.map((c) => c.name).join(", ") || "none";
    throw new Error(
      `${path} has no context "${wanted ?? ""}" (contexts: ${known}); choose one with --context`,
    );
  }
  const cluster = config.clusters?.find((c) => c.name === chosen.cluster)?.cluster;
  const user = config.users?.find((u) => u.name === chosen.user)?.user ?? {};
  if (typeof cluster?.["server"] !== "string")
    throw new Error(`${path}: context "${wanted}" names no server`);
  if (user["exec"] || user["auth-provider"]) {
    throw new Error(
      `${path}: context "${wanted}" logs in through a plugin; make a kubeconfig with a token (kubectl create token) or a client certificate and use that`,
    );
  }
  const material = (from: Record<string, unknown>, name: string): string | undefined => {
    const data = from[`${name}-data`];
    if (typeof data === "string") return Buffer.from(data, "base64").toString();
    const file = from[name];
    return typeof file === "string" ? readFileSync(resolve(dirname(path), file), "utf8") : undefined;
  };
  const tokenFile = user["tokenFile"];
  const token = typeof tokenFile === "string" ? readFileSync(tokenFile, "utf8").trim() : user["token"];
  const text = (value: unknown) => (typeof value === "string" ? value : undefined);
  return defined({
    context: wanted,
    server: cluster["server"],
    ca: material(cluster, "certificate-authority"),
    serverName: text(cluster["tls-server-name"]),
    insecure: cluster["insecure-skip-tls-verify"] === true ? true : undefined,
    token: text(token),
    cert: material(user, "client-certificate"),
    key: material(user, "client-key"),
  }) as Access & { context: string };
}

function defined<T extends object>(object: T): Partial<T> {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as Partial<T>;
}
