/** Pods for the random calls: each has some of what the operator's Pods have. */
import type { SeededRandom } from "../../../engine/random.ts";
import { pods } from "../kinds/pod.ts";
import type { Json } from "../object.ts";
import { NAMES, type Payload } from "./payload.ts";

function container(random: SeededRandom): Json {
  return {
    name: "etcd",
    image: random.pick(["x:v1", "x:v2", "x", "x:latest"]),
    ...(random.chance(0.4) && { args: ["--config-file=/etc/etcd.json"] }),
    ...(random.chance(0.4) && { ports: [{ name: "client", containerPort: 2379 }] }),
    ...(random.chance(0.4) && {
      readinessProbe: { httpGet: { path: "/readyz", port: 2381 }, periodSeconds: 1 },
    }),
    ...(random.chance(0.3) && { env: [{ name: "A", value: "1" }] }),
    ...(random.chance(0.3) && {
      env: [{ name: "IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } }],
    }),
    ...(random.chance(0.3) && { resources: { requests: { memory: "1024Mi" } } }),
    ...(random.chance(0.2) && { resources: { limits: { cpu: "1", memory: "1Gi" } } }),
    ...(random.chance(0.4) && { volumeMounts: [{ name: "data", mountPath: "/data" }] }),
    ...(random.chance(0.2) && {
      securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
    }),
  };
}

const podSpec = (random: SeededRandom): Json => ({
  containers: random.chance(0.97) ? [container(random)] : [],
  volumes: [
    {
      name: "data",
      ...random.pick<Json>([
        { emptyDir: { medium: "Memory" } },
        { emptyDir: {} },
        { persistentVolumeClaim: { claimName: "one" } },
        { secret: { secretName: "one" } },
        { configMap: { name: "one" } },
        { hostPath: { path: "/data" } },
      ]),
    },
  ],
  ...(random.chance(0.5) && { automountServiceAccountToken: false, enableServiceLinks: false }),
  ...(random.chance(0.4) && { terminationGracePeriodSeconds: 5, hostname: "a", subdomain: "b" }),
  ...(random.chance(0.3) && { nodeSelector: { zone: "a" } }),
  ...(random.chance(0.3) && { schedulingGates: [{ name: "example.com/permit" }] }),
  ...(random.chance(0.2) && { securityContext: { runAsUser: 1000, fsGroup: 1000 } }),
  ...(random.chance(0.2) && { tolerations: [{ key: "a", operator: "Exists" }] }),
});

export const podPayload: Payload = {
  kind: pods,
  names: NAMES,
  whole: (random) => ({ spec: podSpec(random) }),
  change: (random) => ({
    spec: random.pick<Json>([
      { schedulingGates: null },
      { hostname: "changed" },
      { activeDeadlineSeconds: 100 },
      { schedulingGates: [{ name: "example.com/another" }] },
      {},
    ]),
  }),
  wanted: (random) => ({ spec: podSpec(random) }),
  status: (random) => ({
    phase: random.pick(["Pending", "Running"]),
    ...(random.chance(0.7) && {
      conditions: [
        { type: "Ready", status: random.pick(["True", "False"]), lastTransitionTime: "2030-01-07T12:00:00Z" },
      ],
    }),
    ...(random.chance(0.3) && { podIP: "10.1.2.3", podIPs: [{ ip: "10.1.2.3" }] }),
  }),
};
