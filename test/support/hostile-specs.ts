/**
 * Specs that somebody may well write and nobody should: what the API server refuses, in which words, and what it
 * accepts and the operator refuses or survives. Changes are merged into a small, good spec.
 */
import { EVERY_CASE } from "./sample.ts";

/** Merged into the good spec: objects by field, everything else replaced. */
export type SpecChange = Readonly<Record<string, unknown>>;

export interface Refused {
  readonly title: string;
  readonly spec: SpecChange;
  /** What is wrong and what to do about it. */
  readonly says: RegExp;
  /** Of a cluster that does not exist yet; absent: an edit of one that runs. */
  readonly name?: string;
}

const pod = (fields: SpecChange): SpecChange => ({ pod: fields });
const options = (fields: SpecChange): SpecChange => ({ options: fields });
const env = (...list: SpecChange[]): SpecChange => pod({ env: list });
const sidecar = (fields: SpecChange): SpecChange =>
  pod({ sidecars: [{ name: "proxy", image: "busybox", ...fields }] });

/** Nothing of these is ever stored. */
export const refusedAtAdmission: readonly Refused[] = [
  // Sizes.
  { title: "ten voters", spec: { replicas: 10 }, says: /between 0 and 9.*for more readers use learners/ },
  { title: "minus one voter", spec: { replicas: -1 }, says: /between 0 and 9/ },
  { title: "two and a half voters", spec: { replicas: 2.5 }, says: /spec\.replicas.*integer/ },
  { title: "a hundred learners", spec: { learners: 100 }, says: /learners must be between 0 and 8/ },
  {
    title: "learners that this etcd cannot have",
    spec: { version: "3.5.35", learners: 3 },
    says: /set learners to 0 or 1, or upgrade to 3\.6 first/,
  },
  {
    title: "hibernation in memory",
    spec: { replicas: 0, storage: { medium: "Memory" } },
    says: /would lose all data.*keep at least 1 member/,
  },
  // Versions and images.
  { title: "no version at all", spec: { version: "latest" }, says: /like 3\.6\.16/ },
  { title: "a version with a v", spec: { version: "v3.6.16" }, says: /without a leading v/ },
  { title: "etcd 2", spec: { version: "2.3.8" }, says: /must be an etcd release/ },
  { title: "an image with its tag", spec: { image: { repository: "etcd:v3.6.16" } }, says: /without tag/ },
  { title: "half a digest", spec: { image: { digest: "sha256:abc" } }, says: /64 hexadecimal digits/ },
  {
    title: "a pull secret of another namespace",
    spec: { image: { pullSecrets: ["other/registry"] } },
    says: /pullSecrets\[0\].*must be a valid object name/,
  },
  // Storage.
  { title: "a volume of nothing", spec: { storage: { size: "0" } }, says: /greater than zero.*like 512Mi/ },
  { title: "a negative volume", spec: { storage: { size: "-1Gi" } }, says: /greater than zero/ },
  { title: "a volume in words", spec: { storage: { size: "ten gigs" } }, says: /write it like 512Mi/ },
  {
    title: "a volume smaller than the quota",
    spec: { storage: { size: "1Gi" }, options: { quotaBackendBytes: "2Gi" } },
    says: /make the volume at least twice the quota/,
  },
  {
    title: "a host path that climbs out",
    spec: { storage: { medium: "HostPath", hostPath: "/data/../../etc" } },
    says: /absolute directory below \/ and without '\.\.'/,
  },
  {
    title: "a host path nobody asked for",
    spec: { storage: { hostPath: "/data" } },
    says: /remove hostPath/,
  },
  { title: "a class in capitals", spec: { storage: { className: "Fast!" } }, says: /lower-case letters/ },
  // TLS.
  {
    title: "a change of TLS that ends after no time at all",
    spec: { tls: { transition: { proceed: "After" } } },
    says: /after is needed/,
  },
  { title: "a URL among the names", spec: { tls: { extraSANs: ["https://e:1"] } }, says: /without scheme/ },
  {
    title: "an address that is none",
    spec: { tls: { extraSANs: ["10.0.0.999"] } },
    says: /or an IP address/,
  },
  // etcd's options.
  {
    title: "a flag that splits the cluster",
    spec: options({ extraArgs: { "initial-cluster": "x=http://y" } }),
    says: /Quorate sets them itself, remove them/,
  },
  {
    title: "a flag that gives up durability",
    spec: options({ extraArgs: { "unsafe-no-fsync": "true" } }),
    says: /remove them/,
  },
  {
    title: "a flag with an option of its own",
    spec: options({ extraArgs: { "snapshot-count": "5" } }),
    says: /use options\.snapshotCount/,
  },
  {
    title: "an election before the heartbeat",
    spec: options({ heartbeatInterval: "1s", electionTimeout: "1s" }),
    says: /electionTimeout/,
  },
  {
    title: "a gate in lower case",
    spec: options({ featureGates: { x: true } }),
    says: /write gates as etcd does/,
  },
  // Pods.
  {
    title: "requests above limits",
    spec: pod({ resources: { requests: { cpu: "2" }, limits: { cpu: "1" } } }),
    says: /lower the request or raise the limit/,
  },
  {
    title: "negative memory",
    spec: pod({ resources: { requests: { memory: "-256Mi" } } }),
    says: /quantity of zero or more/,
  },
  {
    title: "a resource nobody has",
    spec: pod({ resources: { limits: { disk: "1Gi" } } }),
    says: /names must be cpu/,
  },
  {
    title: "a label with spaces",
    spec: pod({ labels: { team: "a b" } }),
    says: /must be a valid label value/,
  },
  {
    title: "a label of ours",
    spec: pod({ labels: { "etcd.quorate.dev/role": "voter" } }),
    says: /another prefix/,
  },
  {
    title: "annotations larger than a Pod may have",
    spec: pod({
      annotations: Object.fromEntries(["a", "b", "c", "d"].map((key) => [key, "x".repeat(16_000)])),
    }),
    says: /keep larger data in a ConfigMap/,
  },
  {
    title: "a toleration that says nothing",
    spec: pod({ tolerations: [{ effect: "NoSchedule" }] }),
    says: /operator Exists/,
  },
  {
    title: "an affinity to nothing",
    spec: pod({
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchExpressions: [{ key: "a", operator: "Nearby" }] }],
          },
        },
      },
    }),
    says: /supported values: "In"/,
  },
  {
    title: "a priority class in capitals",
    spec: pod({ priorityClassName: "HIGH" }),
    says: /valid object name/,
  },
  {
    title: "no time to stop",
    spec: pod({ terminationGracePeriodSeconds: 0 }),
    says: /greater than or equal to 1/,
  },
  {
    title: "root that must not be root",
    spec: pod({ securityContext: { runAsUser: 0, runAsNonRoot: true } }),
    says: /no container would start: change one of them/,
  },
  {
    title: "a user beyond all users",
    spec: pod({ securityContext: { runAsUser: 1e12 } }),
    says: /2147483647/,
  },
  {
    title: "a variable that etcd ignores",
    spec: env({ name: "ETCD_NAME", value: "x" }),
    says: /use spec\.options/,
  },
  {
    title: "a variable twice",
    spec: env({ name: "GOGC", value: "1" }, { name: "GOGC", value: "2" }),
    says: /may be set only once/,
  },
  { title: "a variable from nowhere", spec: env({ name: "A", valueFrom: {} }), says: /must name one source/ },
  {
    title: "a variable from two places",
    spec: env({ name: "A", value: "x", valueFrom: { fieldRef: { fieldPath: "spec.nodeName" } } }),
    says: /remove one of them/,
  },
  {
    title: "a sidecar on etcd's port",
    spec: sidecar({ ports: [{ containerPort: 2379 }] }),
    says: /another port/,
  },
  {
    title: "a sidecar that mounts what is not there",
    spec: sidecar({ volumeMounts: [{ name: "cache", mountPath: "/c" }] }),
    says: /mount one of these/,
  },
  { title: "a sidecar called etcd", spec: sidecar({ name: "etcd" }), says: /Quorate's own container/ },
  {
    title: "two sidecars of one name",
    spec: pod({ sidecars: [1, 2].map(() => ({ name: "proxy", image: "busybox" })) }),
    says: /rename one of them/,
  },
  // The rest.
  {
    title: "an annotation with an impossible key on the Service",
    spec: { service: { type: "LoadBalancer", annotations: { "no key/at all/": "x" } } },
    says: /keys must be like example\.com\/team/,
  },
  {
    title: "a Service of no type",
    spec: { service: { type: "Anycast" } },
    says: /supported values: "ClusterIP"/,
  },
  {
    title: "a member lost before it is unhealthy",
    spec: { repair: { unhealthyAfter: "1h", memberLostAfter: "1m" } },
    says: /raise memberLostAfter or lower unhealthyAfter/,
  },
  { title: "a misspelt field", spec: { replica: 5 }, says: /unknown field "spec\.replica"/ },
  { name: "3demo", title: "a name no Service can have", spec: {}, says: /starting with a letter/ },
  { name: "demo.prod", title: "a name with a dot", spec: {}, says: /becomes the name of Services/ },
  { name: "a".repeat(41), title: "a name too long for labels", spec: {}, says: /at most 40 characters/ },
];

export interface Told {
  readonly title: string;
  readonly spec: SpecChange;
  /** `Stalled` becomes True with this reason. */
  readonly reason: string;
  /** The field, why, and what to do. */
  readonly says: RegExp;
}

/** Accepted by the API server, refused by the operator before any member is touched. For a cluster of 3.6. */
export const refusedWithACondition: readonly Told[] = [
  {
    title: "a release that nobody knows",
    spec: { version: "3.9.0" },
    reason: "VersionRefused",
    says: /^etcd 3\.9 is not supported.*Set spec\.version to a release of/,
  },
  {
    title: "a downgrade by two minors, to an end of life",
    spec: { version: "3.4.45" },
    reason: "VersionRefused",
    says: /^etcd is downgraded one minor version at a time.*Set spec\.version to 3\.5/,
  },
  {
    title: "a downgrade below the safe floor",
    spec: { version: "3.5.10" },
    reason: "VersionRefused",
    says: /^etcd 3\.5\.10 is below the oldest safe 3\.5.*Set spec\.version to/,
  },
  {
    title: "a patch with faults that can lose data",
    spec: { version: "3.6.10" },
    reason: "VersionRefused",
    says: /^etcd 3\.6\.10 is below the oldest safe 3\.6.*Set spec\.version to/,
  },
  {
    title: "a feature gate that nobody knows",
    spec: options({ featureGates: { NoSuchGate: true } }),
    reason: "OptionRefused",
    says: /^spec\.options\.featureGates\.NoSuchGate: etcd 3\.6\.16 has no feature gate.*Correct or remove/,
  },
  {
    title: "a flag that etcd does not have",
    spec: options({ extraArgs: { "no-such-flag": "1" } }),
    reason: "OptionRefused",
    says: /^spec\.options\.extraArgs\.no-such-flag: .*Correct or remove/,
  },
  {
    title: "a flag with a value of another kind",
    spec: options({ extraArgs: { "max-wals": "many" } }),
    reason: "OptionRefused",
    says: /^spec\.options\.extraArgs\.max-wals: "many" is not a whole number/,
  },
  {
    title: "an account that does not exist",
    spec: pod({ serviceAccountName: "nobody" }),
    reason: "PodRefused",
    says: /^spec\.pod: .*serviceaccount "nobody" not found.*Correct spec\.pod/,
  },
  {
    title: "a priority class that does not exist",
    spec: pod({ priorityClassName: "urgent" }),
    reason: "PodRefused",
    says: /^spec\.pod: .*no PriorityClass with name urgent/,
  },
  {
    title: "a sidecar with a misspelt field",
    spec: sidecar({ comand: ["sleep"] }),
    reason: "PodRefused",
    says: /^spec\.pod: .*unknown field "spec\.containers\[1\]\.comand"/,
  },
  {
    title: "a sidecar with text for a number",
    spec: sidecar({ stdin: "yes" }),
    reason: "PodRefused",
    says: /^spec\.pod: .*stdin/,
  },
  {
    title: "a sidecar with a probe of nothing",
    spec: sidecar({ livenessProbe: { periodSeconds: 5 } }),
    reason: "PodRefused",
    says: /^spec\.pod: .*spec\.containers\[1\]\.livenessProbe: .*must specify a handler/,
  },
  {
    title: "a variable from a field that no Pod has",
    spec: env({ name: "A", valueFrom: { fieldRef: { fieldPath: "spec.color" } } }),
    reason: "PodRefused",
    says: /^spec\.pod: .*valueFrom\.fieldRef\.fieldPath: .*spec\.color/,
  },
  {
    title: "a kernel setting that is none",
    spec: pod({ securityContext: { sysctls: [{ name: "not a sysctl", value: "1" }] } }),
    reason: "PodRefused",
    says: /^spec\.pod: .*sysctls\[0\]\.name/,
  },
  {
    title: "a node's label that none can have",
    spec: pod({ tolerations: [{ key: "a key", operator: "Exists" }] }),
    reason: "PodRefused",
    says: /^spec\.pod: .*tolerations\[0\]\.key/,
  },
  {
    title: "huge pages without a limit",
    spec: pod({ resources: { requests: { "hugepages-2Mi": "4Mi" } } }),
    reason: "PodRefused",
    says: /^spec\.pod: .*resources\.limits: .*Limit must be set for non overcommitable resources/,
  },
];

export interface FoundOut {
  readonly title: string;
  /** Part of `npm test`: one that Kubernetes finds out, and one that etcd does. */
  readonly always?: boolean;
  readonly spec: SpecChange;
  readonly says: RegExp;
}

const nowhere = { key: "kubernetes.io/hostname", operator: "In", values: ["nowhere"] };

const foundOut: readonly FoundOut[] = [
  {
    title: "an image that does not exist",
    always: true,
    spec: { image: { repository: "registry.example/nothing" } },
    says: /was rolled back: (ErrImagePull|ImagePullBackOff).*registry\.example\/nothing.*Correct the spec/,
  },
  {
    title: "a thousand processors",
    spec: pod({ resources: { requests: { cpu: "1000" } } }),
    says: /was rolled back: .*Insufficient cpu.*Correct the spec/,
  },
  {
    title: "a node that is nowhere, by affinity",
    spec: pod({
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchExpressions: [nowhere] }],
          },
        },
      },
    }),
    says: /was rolled back: .*didn't match Pod's node affinity.*Correct the spec/,
  },
  {
    title: "a variable from a Secret that does not exist",
    spec: env({ name: "A", valueFrom: { secretKeyRef: { name: "no-such", key: "k" } } }),
    says: /was rolled back: CreateContainerConfigError.*no-such.*Correct the spec/,
  },
  {
    title: "a value that only etcd itself can refuse",
    always: true,
    spec: options({ extraArgs: { "cipher-suites": "TLS_NO_SUCH_SUITE" } }),
    says: /was rolled back: .*TLS_NO_SUCH_SUITE.*Correct the spec/,
  },
];

/** Accepted, and nobody can know before one member has tried; then it is put back. */
export const foundOutByOne = foundOut.filter(({ always }) => always || EVERY_CASE);
