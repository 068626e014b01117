/**
 * Good and bad specs for the rules about Pods, Services and the objects they name; part of the list in examples.ts.
 */
import type { Change, Example } from "./example.ts";

const spec = (fields: Record<string, unknown>): Change => ({ spec: fields });
const pod = (fields: Record<string, unknown>): Change => spec({ pod: fields });
const sidecar = (fields: Record<string, unknown>): Change =>
  pod({ sidecars: [{ name: "proxy", image: "example.com/x", ...fields }] });
const env = (...variables: Record<string, unknown>[]): Change => pod({ env: variables });
const required = (requirement: Record<string, unknown>): Change => {
  const terms = { nodeSelectorTerms: [{ matchExpressions: [requirement] }] };
  return pod({ affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } } });
};
const spread = { maxSkew: 1, topologyKey: "topology.kubernetes.io/zone" };

export const podExamples: readonly Example[] = [
  {
    title: "a request that is no quantity",
    path: "spec.pod.resources.requests[cpu]",
    bad: pod({ resources: { requests: { cpu: "much" } } }),
    good: pod({ resources: { requests: { cpu: 2, memory: "8Gi" }, limits: { memory: "8Gi" } } }),
  },
  {
    title: "a negative request",
    path: "spec.pod.resources.requests[memory]",
    bad: pod({ resources: { requests: { memory: "-1Gi" } } }),
  },
  {
    title: "a request above its limit",
    path: "spec.pod.resources.requests",
    bad: pod({ resources: { requests: { memory: "2Gi" }, limits: { memory: "1Gi" } } }),
    good: pod({ resources: { requests: { cpu: "1500m", memory: 1024 }, limits: { memory: "1Ki", cpu: 2 } } }),
  },
  {
    title: "a resource that no node has",
    path: "spec.pod.resources.limits",
    bad: pod({ resources: { limits: { disk: "1Gi" } } }),
    good: pod({ resources: { limits: { "ephemeral-storage": "1Gi", "example.com/nic": 1 } } }),
  },
  {
    title: "a label of ours",
    path: "spec.pod.labels",
    bad: pod({ labels: { "etcd.quorate.dev/role": "x" } }),
    good: pod({ labels: { team: "storage" } }),
  },
  {
    title: "a label with a space",
    path: "spec.pod.labels[team]",
    bad: pod({ labels: { team: "the storage team" } }),
    good: pod({ labels: { team: "", "example.com/Team_1.x": "the-storage_team.1" } }),
  },
  {
    title: "a key of a label that is none",
    path: "spec.pod.labels",
    bad: pod({ labels: { "a/b/c": "x" } }),
    good: pod({ labels: { "a.b/c": "x" } }),
  },
  {
    title: "a node that has a label which none can have",
    path: "spec.pod.nodeSelector",
    bad: pod({ nodeSelector: { "-disk": "ssd" } }),
    good: pod({ nodeSelector: { disk: "ssd" } }),
  },
  {
    title: "a label of ours on every object",
    path: "spec.metadata.labels",
    bad: spec({ metadata: { labels: { "etcd.quorate.dev/cluster": "x" } } }),
    good: spec({ metadata: { labels: { "example.com/team": "storage" } } }),
  },
  {
    title: "an annotation of Kubernetes on every object",
    path: "spec.metadata.annotations",
    bad: spec({ metadata: { annotations: { "pv.kubernetes.io/bind-completed": "no" } } }),
    good: spec({ metadata: { annotations: { "kubernetes.io.example.com/x": "yes", "cost-center": "7" } } }),
  },
  {
    title: "more annotations on every object than fit beside those of one kind",
    path: "spec.metadata.annotations",
    bad: spec({ metadata: { annotations: { a: "x".repeat(2_000), b: "x".repeat(2_000) } } }),
    good: spec({ metadata: { annotations: { a: "x".repeat(2_000), b: "x".repeat(1_998) } } }),
  },
  {
    title: "an annotation of ours on the Service",
    path: "spec.service.annotations",
    bad: spec({ service: { annotations: { "app.kubernetes.io/name": "x" } } }),
    good: spec({ service: { type: "LoadBalancer", annotations: { "example.com/internal": "true" } } }),
  },
  {
    title: "annotations larger than an object may have",
    path: "spec.pod.annotations",
    bad: pod({ annotations: Object.fromEntries([1, 2, 3, 4].map((n) => [`a${n}`, "x".repeat(16_000)])) }),
    good: pod({ annotations: Object.fromEntries([1, 2, 3].map((n) => [`a${n}`, "x".repeat(16_000)])) }),
  },
  {
    title: "a priority class in capitals",
    path: "spec.pod.priorityClassName",
    bad: pod({ priorityClassName: "High" }),
    good: pod({ priorityClassName: "system-cluster-critical" }),
  },
  {
    title: "a pull secret with a slash",
    path: "spec.image.pullSecrets[0]",
    bad: spec({ image: { pullSecrets: ["default/registry"] } }),
    good: spec({ image: { pullSecrets: ["registry"] } }),
  },
  {
    title: "operator Exists with a value",
    path: "spec.pod.tolerations[0].value",
    bad: pod({ tolerations: [{ key: "dedicated", operator: "Exists", value: "etcd" }] }),
    good: pod({ tolerations: [{ key: "dedicated", operator: "Equal", value: "etcd" }] }),
  },
  {
    title: "a toleration of nothing in particular",
    path: "spec.pod.tolerations[0].operator",
    bad: pod({ tolerations: [{ value: "etcd" }] }),
    good: pod({ tolerations: [{ operator: "Exists" }] }),
  },
  {
    title: "seconds of a toleration that does not run out",
    path: "spec.pod.tolerations[0].tolerationSeconds",
    bad: pod({ tolerations: [{ key: "a", effect: "NoSchedule", tolerationSeconds: 5 }] }),
    good: pod({ tolerations: [{ key: "a", effect: "NoExecute", tolerationSeconds: 5 }] }),
  },
  {
    title: "nodes in none of no values",
    path: "spec.pod.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values",
    bad: required({ key: "disk", operator: "In" }),
    good: required({ key: "disk", operator: "Exists" }),
  },
  {
    title: "domains of a spread that is only wished for",
    path: "spec.pod.topologySpreadConstraints[0].minDomains",
    bad: pod({
      topologySpreadConstraints: [{ ...spread, whenUnsatisfiable: "ScheduleAnyway", minDomains: 3 }],
    }),
    good: pod({
      topologySpreadConstraints: [{ ...spread, whenUnsatisfiable: "DoNotSchedule", minDomains: 3 }],
    }),
  },
  {
    title: "root where root is forbidden",
    path: "spec.pod.securityContext.runAsNonRoot",
    bad: pod({ securityContext: { runAsNonRoot: true, runAsUser: 0 } }),
    good: pod({ securityContext: { runAsNonRoot: true, runAsUser: 1000 } }),
  },
  {
    title: "a seccomp profile without its name",
    path: "spec.pod.securityContext.seccompProfile",
    bad: pod({ securityContext: { seccompProfile: { type: "Localhost" } } }),
    good: pod({ securityContext: { seccompProfile: { type: "Localhost", localhostProfile: "a.json" } } }),
  },
  {
    title: "a variable that etcd would ignore",
    path: "spec.pod.env[1].name",
    bad: env({ name: "GOGC", value: "50" }, { name: "ETCD_QUOTA_BACKEND_BYTES", value: "1" }),
    good: env({ name: "GOGC", value: "50" }, { name: "ETCD_UNSUPPORTED_ARCH", value: "riscv64" }),
  },
  {
    title: "a variable with a name that is none",
    path: "spec.pod.env[0].name",
    bad: env({ name: "1 x", value: "a" }),
  },
  {
    title: "a variable given twice",
    path: "spec.pod.env",
    bad: env({ name: "GOGC", value: "50" }, { name: "GOGC", value: "60" }),
  },
  {
    title: "a variable with a value and a source",
    path: "spec.pod.env[0]",
    bad: env({ name: "NODE", value: "a", valueFrom: { fieldRef: { fieldPath: "spec.nodeName" } } }),
    good: env({ name: "NODE", valueFrom: { fieldRef: { fieldPath: "spec.nodeName" } } }),
  },
  {
    title: "a variable from nowhere",
    path: "spec.pod.env[0].valueFrom",
    bad: env({ name: "NODE", valueFrom: {} }),
    good: env({ name: "KEY", valueFrom: { secretKeyRef: { name: "s", key: "k", optional: true } } }),
  },
  {
    title: "a sidecar called etcd",
    path: "spec.pod.sidecars",
    bad: sidecar({ name: "etcd" }),
    good: sidecar({ ports: [{ containerPort: 80 }], resources: { limits: { cpu: 1 } } }),
  },
  {
    title: "two sidecars of one name",
    path: "spec.pod.sidecars",
    bad: pod({ sidecars: ["a", "b"].map((tag) => ({ name: "x", image: `example.com/x:${tag}` })) }),
  },
  {
    title: "a sidecar with an underscore",
    path: "spec.pod.sidecars[0].name",
    bad: sidecar({ name: "my_proxy" }),
  },
  {
    title: "a sidecar on a port of etcd's",
    path: "spec.pod.sidecars[0].ports",
    bad: sidecar({ ports: [{ containerPort: 80 }, { containerPort: 2381 }] }),
  },
  {
    title: "a sidecar that mounts what the Pod does not have",
    path: "spec.pod.sidecars[0].volumeMounts",
    bad: sidecar({ volumeMounts: [{ name: "cache", mountPath: "/cache" }] }),
    good: sidecar({ volumeMounts: [{ name: "config", mountPath: "/tls", readOnly: true }] }),
  },
  {
    title: "a traffic policy without an outside",
    path: "spec.service.externalTrafficPolicy",
    bad: spec({ service: { externalTrafficPolicy: "Local" } }),
    good: spec({ service: { type: "NodePort", externalTrafficPolicy: "Local" } }),
  },
  {
    title: "source ranges without a load balancer",
    path: "spec.service",
    bad: spec({ service: { loadBalancerSourceRanges: ["192.0.2.0/24"] } }),
    good: spec({ service: { type: "LoadBalancer", loadBalancerSourceRanges: ["192.0.2.0/24", "::/0"] } }),
  },
  {
    title: "a source range that is an address",
    path: "spec.service.loadBalancerSourceRanges[0]",
    bad: spec({ service: { type: "LoadBalancer", loadBalancerSourceRanges: ["192.0.2.1"] } }),
  },
  {
    title: "a load balancer's class with a blank",
    path: "spec.service.loadBalancerClass",
    bad: spec({ service: { type: "LoadBalancer", loadBalancerClass: "my class" } }),
    good: spec({ service: { type: "LoadBalancer", loadBalancerClass: "example.com/internal" } }),
  },
  {
    title: "another class for a load balancer that is there",
    path: "spec.service.loadBalancerClass",
    old: spec({ service: { type: "LoadBalancer" } }),
    bad: spec({ service: { type: "LoadBalancer", loadBalancerClass: "example.com/internal" } }),
    good: spec({ service: { type: "NodePort" } }),
  },
];
