/**
 * The Deployment of the operator and what belongs to it: two replicas of which one leads, apart from each other,
 * without rights on their node, restarted when their loop is stuck.
 */
import packageManifest from "../../../package.json" with { type: "json" };
import { NODE, OPERATOR_FLAGS, PROGRAM } from "../../build/runtime.ts";
import { APP_NAME, LABELS, metadata, OPERATOR, type Manifest } from "./metadata.ts";

/** The user of the image, in Pods and on disk. */
export const CONTAINER_USER = 65_532;
/**
 * There is no published image. The top-level domain `invalid` is reserved and never resolves (RFC 2606), so a manifest
 * applied unchanged fails to pull, where a name that anybody could register would run their image with our rights.
 */
export const IMAGE_REPOSITORY = "quorate.invalid/quorate";
export const IMAGE = `${IMAGE_REPOSITORY}:${packageManifest.version}`;

const PORTS = { metrics: 8080, health: 8081 } as const;

/** `args` follow the verb. */
export function deployment(namespace: string, args: readonly string[], priorityClassName?: string): Manifest {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: metadata(OPERATOR, namespace),
    spec: {
      replicas: 2,
      revisionHistoryLimit: 3,
      selector: { matchLabels: LABELS },
      // The new one is in step before the old one goes; who leads hands over when it is told to stop.
      strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      template: {
        metadata: {
          labels: LABELS,
          annotations: {
            "kubectl.kubernetes.io/default-container": "operator",
            "prometheus.io/scrape": "true",
            "prometheus.io/port": String(PORTS.metrics),
          },
        },
        spec: {
          serviceAccountName: OPERATOR,
          ...(priorityClassName !== undefined && { priorityClassName }),
          terminationGracePeriodSeconds: 30,
          enableServiceLinks: false,
          securityContext: {
            runAsNonRoot: true,
            runAsUser: CONTAINER_USER,
            runAsGroup: CONTAINER_USER,
            seccompProfile: { type: "RuntimeDefault" },
          },
          topologySpreadConstraints: ["kubernetes.io/hostname", "topology.kubernetes.io/zone"].map(spread),
          // The other replica has taken over long before; this one is to be made anew soon, too.
          tolerations: ["not-ready", "unreachable"].map((trouble) => ({
            key: `node.kubernetes.io/${trouble}`,
            operator: "Exists",
            effect: "NoExecute",
            tolerationSeconds: 30,
          })),
          containers: [container(args)],
        },
      },
    },
  };
}

function container(args: readonly string[]) {
  return {
    name: "operator",
    image: IMAGE,
    imagePullPolicy: "IfNotPresent",
    // The image's own command is for Jobs, which need speed more than little memory.
    command: [`/${NODE}`, ...OPERATOR_FLAGS, `/${PROGRAM}`],
    args: ["operator", ...args],
    env: [
      { name: "POD_NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
      { name: "POD_NAMESPACE", valueFrom: { fieldRef: { fieldPath: "metadata.namespace" } } },
      // By it NetworkPolicies of clusters tell its Pods from others.
      {
        name: "POD_APP_NAME",
        valueFrom: { fieldRef: { fieldPath: `metadata.labels['${APP_NAME}']` } },
      },
      // For the Jobs that take snapshots.
      { name: "QUORATE_IMAGE", value: IMAGE },
    ],
    ports: Object.entries(PORTS).map(([name, containerPort]) => ({ name, containerPort, protocol: "TCP" })),
    // It answers by itself when its loop is stuck; no answer within the time means that nothing turns at all.
    livenessProbe: probe("/healthz", { periodSeconds: 20, failureThreshold: 3, timeoutSeconds: 5 }),
    readinessProbe: probe("/readyz", { periodSeconds: 2, failureThreshold: 3, timeoutSeconds: 2 }),
    resources: { requests: { cpu: "50m", memory: "96Mi" }, limits: { memory: "256Mi" } },
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    },
  };
}

function probe(path: string, times: object) {
  return { httpGet: { path, port: "health" }, ...times };
}

/** Rather apart: a cluster of one node is one, too. */
function spread(topologyKey: string) {
  return {
    maxSkew: 1,
    topologyKey,
    whenUnsatisfiable: "ScheduleAnyway",
    labelSelector: { matchLabels: LABELS },
  };
}

export function disruptionBudget(namespace: string): Manifest {
  return {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: metadata(OPERATOR, namespace),
    spec: {
      maxUnavailable: 1,
      // One that is broken must not keep a node from being drained.
      unhealthyPodEvictionPolicy: "AlwaysAllow",
      selector: { matchLabels: LABELS },
    },
  };
}

/** Ingress only: what it connects to (the API server, DNS, etcd, the stores of snapshots) stays open. */
export function networkPolicy(namespace: string): Manifest {
  const port = (name: keyof typeof PORTS) => ({ port: name, protocol: "TCP" });
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: metadata(OPERATOR, namespace),
    spec: {
      podSelector: { matchLabels: LABELS },
      policyTypes: ["Ingress"],
      ingress: [
        // Kubelets come from the addresses of nodes, which no selector names.
        { ports: [port("health")] },
        {
          from: [{ namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "monitoring" } } }],
          ports: [port("metrics")],
        },
      ],
    },
  };
}

/** Headless: each replica is scraped, not one of them at random. */
export function metricsService(namespace: string): Manifest {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: metadata(`${OPERATOR}-metrics`, namespace),
    spec: {
      clusterIP: "None",
      selector: LABELS,
      ports: [{ name: "metrics", port: PORTS.metrics, targetPort: "metrics", protocol: "TCP" }],
    },
  };
}

/**
 * Ahead of ordinary workloads, because it heals them. Not system-cluster-critical: etcd serves without the
 * operator, and some providers refuse that class outside kube-system.
 */
export const PRIORITY_CLASS = `${OPERATOR}-operator`;

export function priorityClass(): Manifest {
  return {
    apiVersion: "scheduling.k8s.io/v1",
    kind: "PriorityClass",
    metadata: metadata(PRIORITY_CLASS),
    value: 1_000_000,
    globalDefault: false,
    description: "The operator of etcd clusters: it heals what ordinary workloads stand on.",
  };
}
