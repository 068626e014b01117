/**
 * Pods for tests on the stand-in kubelet: made, waited for, removed; and a word with the etcd inside.
 */
import assert from "node:assert/strict";
import type { Pod, PodSpec } from "kubernetes-types/core/v1.d.ts";
import { isCode } from "../../testbed/client.ts";
import type { Client } from "../../testbed/client.ts";
import { eventually } from "../../testbed/eventually.ts";

export const PODS = "/api/v1/namespaces/default/pods";
export const CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims";

export function pod(name: string, spec: Partial<PodSpec>): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default", labels: { app: name } },
    spec: { enableServiceLinks: false, terminationGracePeriodSeconds: 5, containers: [], ...spec },
  };
}

/** A single etcd that keeps its data where `volume` says. */
export function etcdPod(name: string, volumes: PodSpec["volumes"]): Pod {
  const probe = (path: string) => ({
    httpGet: { path, port: "metrics" },
    periodSeconds: 1,
    failureThreshold: 3,
  });
  return pod(name, {
    volumes: volumes ?? [],
    containers: [
      {
        name: "etcd",
        image: "registry.example/etcd:v3.6.16",
        command: ["etcd"],
        args: [
          "--name=$(NAME)",
          "--data-dir=/var/lib/etcd/data",
          "--listen-client-urls=http://0.0.0.0:2379",
          "--advertise-client-urls=http://$(POD_IP):2379",
          "--listen-peer-urls=http://0.0.0.0:2380",
          "--listen-metrics-urls=http://0.0.0.0:2381",
        ],
        env: [
          { name: "NAME", value: "solo" },
          { name: "POD_IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } },
        ],
        ports: [{ name: "metrics", containerPort: 2381 }],
        startupProbe: { ...probe("/readyz"), failureThreshold: 30 },
        // Patient: a slow disk is no reason for a restart that a test has not asked for.
        livenessProbe: { ...probe("/livez"), failureThreshold: 20 },
        readinessProbe: probe("/readyz"),
        volumeMounts: (volumes ?? []).map((v) => ({
          name: v.name,
          mountPath: v.name === "data" ? "/var/lib/etcd" : `/${v.name}`,
        })),
      },
    ],
  });
}

export const condition = (p: Pod, type: string) => p.status?.conditions?.find((c) => c.type === type)?.status;
export const firstContainer = (p: Pod) => p.status?.containerStatuses?.[0];

export class Pods {
  readonly client: Client;

  constructor(client: Client) {
    this.client = client;
  }

  get(name: string): Promise<Pod> {
    return this.client.get<Pod>(`${PODS}/${name}`);
  }

  async create(object: Pod): Promise<void> {
    await this.client.create(PODS, object);
  }

  ready(name: string): Promise<Pod> {
    return eventually(`Pod ${name} is ready`, async () => {
      const now = await this.get(name);
      return condition(now, "Ready") === "True" && now;
    });
  }

  /** Waits until the first container was restarted so often and is ready again. */
  restarted(name: string, times: number): Promise<Pod> {
    return eventually(`Pod ${name} was restarted`, async () => {
      const now = await this.get(name);
      return firstContainer(now)?.restartCount === times && condition(now, "Ready") === "True" && now;
    });
  }

  async remove(name: string, body: object = {}): Promise<void> {
    await this.client.delete(`${PODS}/${name}`, body);
    await eventually(`Pod ${name} is gone`, () => this.isGone(`${PODS}/${name}`));
  }

  isGone(path: string): Promise<boolean> {
    return this.client.get(path).then(
      () => false,
      (error: unknown) => isCode(error, 404),
    );
  }

  async claim(name: string, storageClassName = "standard"): Promise<void> {
    await this.client.create(CLAIMS, {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: { name },
      spec: { accessModes: ["ReadWriteOnce"], storageClassName, resources: { requests: { storage: "1Gi" } } },
    });
  }
}

/** etcd's own JSON gateway; keys and values travel in base64. */
async function etcdCall(
  ip: string,
  method: string,
  body: Record<string, string>,
): Promise<Record<string, unknown>> {
  const response = await fetch(`http://${ip}:2379/v3/kv/${method}`, {
    method: "POST",
    body: JSON.stringify(body),
  });
  assert.ok(response.ok, `${method}: ${response.status}`);
  return (await response.json()) as Record<string, unknown>;
}

const base64 = (text: string) => Buffer.from(text).toString("base64");
export const put = (ip: string) => etcdCall(ip, "put", { key: base64("kept"), value: base64("yes") });
export const count = async (ip: string) =>
  Number((await etcdCall(ip, "range", { key: base64("kept") }))["count"] ?? 0);
