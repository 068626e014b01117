/**
 * Good and bad specs for every rule and every kind of shape error. The unit tests try them on the local
 * validation, the tests with a real API server on that: both have to say the same.
 */
import { bootstrapExamples } from "./bootstrap-examples.ts";
import type { Change, Example } from "./example.ts";
import { API_VERSION } from "./metadata.ts";
import { networkPolicyExamples } from "./network-policy-examples.ts";
import { podExamples } from "./pod-examples.ts";
import { storageExamples } from "./storage-examples.ts";
import { tlsExamples } from "./tls-examples.ts";

/** The smallest valid cluster, with a change on top: objects are merged, everything else replaced. */
export function exampleCluster(change: Change = {}): Record<string, unknown> {
  return {
    apiVersion: API_VERSION,
    kind: "EtcdCluster",
    metadata: { name: change.name ?? "demo" },
    spec: { version: "3.6.14", ...change.spec },
  };
}

const spec = (fields: Record<string, unknown>): Change => ({ spec: fields });
const storage = (fields: Record<string, unknown>): Change => spec({ storage: fields });
const options = (fields: Record<string, unknown>): Change => spec({ options: fields });
const pod = (fields: Record<string, unknown>): Change => spec({ pod: fields });
const digest = (digit: string): string => `sha256:${digit.repeat(64)}`;

/** One or more for every rule. */
export const ruleExamples: readonly Example[] = [
  {
    title: "auth enabled without stating what the published client credentials may do",
    path: "spec.auth.clientRoles",
    bad: spec({ auth: { enabled: true } }),
    good: spec({ auth: { enabled: true, clientRoles: [] } }),
  },
  {
    title: "a role that etcd could not be asked for by name",
    path: "spec.auth.clientRoles[0]",
    bad: spec({ auth: { enabled: true, clientRoles: ["a role"] } }),
    good: spec({ auth: { enabled: true, clientRoles: ["a-role"] } }),
  },
  {
    title: "a Secret with a name that none can have",
    path: "spec.auth.rootPasswordSecret",
    bad: spec({ auth: { enabled: false, rootPasswordSecret: "My_Secret" } }),
    good: spec({ auth: { enabled: false, rootPasswordSecret: "my-secret" } }),
  },
  {
    title: "tokens that live a moment",
    path: "spec.auth.token.ttl",
    bad: spec({ auth: { enabled: false, token: { type: "JWT", ttl: "9s" } } }),
    good: spec({ auth: { enabled: false, token: { type: "JWT", ttl: "10s" } } }),
  },
  {
    title: "tokens that live for parts of a second",
    path: "spec.auth.token.ttl",
    bad: spec({ auth: { enabled: false, token: { type: "Simple", ttl: "10500ms" } } }),
    good: spec({ auth: { enabled: false, token: { type: "Simple", ttl: "24h" } } }),
  },
  {
    title: "a key that is replaced all the time",
    path: "spec.auth.token.keyLifetime",
    bad: spec({ auth: { enabled: false, token: { type: "JWT", keyLifetime: "9m" } } }),
    good: spec({ auth: { enabled: false, token: { type: "JWT", keyLifetime: "10m" } } }),
  },
  {
    title: "the age of a key that does not exist",
    path: "spec.auth.token.keyLifetime",
    bad: spec({ auth: { enabled: false, token: { type: "Simple", keyLifetime: "720h" } } }),
    good: spec({ auth: { enabled: false, token: { type: "Simple" } } }),
  },
  {
    title: "auth on an etcd from which no upgrade with auth is supported",
    path: "spec.auth.enabled",
    bad: spec({ version: "3.4.23", auth: { enabled: true, clientRoles: [] } }),
    good: spec({ version: "3.4.23", auth: { enabled: false } }),
  },
  ...storageExamples,
  ...networkPolicyExamples,
  {
    title: "a name with a dot, which no Service may have",
    path: "metadata.name",
    bad: { name: "demo.cluster" },
    good: { name: "demo-cluster" },
  },
  {
    title: "a name that begins with a digit",
    path: "metadata.name",
    bad: { name: "3demo" },
    good: { name: "demo3" },
  },
  {
    title: "a name too long for what is made from it",
    path: "metadata.name",
    bad: { name: "a".repeat(41) },
    good: { name: "a".repeat(40) },
  },
  {
    title: "ten voting members",
    path: "spec.replicas",
    bad: spec({ replicas: 10 }),
    good: spec({ replicas: 9 }),
  },
  {
    title: "a negative number of members",
    path: "spec.replicas",
    bad: spec({ replicas: -1 }),
    good: spec({ replicas: 4 }),
  },
  {
    title: "hibernation of members in memory",
    path: "spec.replicas",
    bad: spec({ replicas: 0, storage: { medium: "Memory" } }),
    good: spec({ replicas: 0 }),
  },
  {
    title: "hibernation of members on ephemeral disk",
    path: "spec.replicas",
    bad: spec({ replicas: 0, storage: { medium: "Ephemeral" } }),
    good: spec({ replicas: 1, storage: { medium: "Ephemeral" } }),
  },
  { title: "a version with a leading v", path: "spec.version", bad: spec({ version: "v3.6.14" }) },
  { title: "a version without a patch", path: "spec.version", bad: spec({ version: "3.6" }) },
  { title: "another major version", path: "spec.version", bad: spec({ version: "2.3.8" }) },
  {
    title: "an image with a tag",
    path: "spec.image.repository",
    bad: spec({ image: { repository: "example.com/etcd:v3.6.14" } }),
    good: spec({ image: { repository: "example.com:5000/mirror/etcd" } }),
  },
  {
    title: "a digest of another kind",
    path: "spec.image.digest",
    bad: spec({ image: { digest: "md5:abc" } }),
    good: spec({ image: { digest: digest("a") } }),
  },
  {
    title: "a new version under the old digest",
    path: "spec.image.digest",
    old: spec({ version: "3.6.12", image: { digest: digest("a") } }),
    bad: spec({ version: "3.6.14", image: { digest: digest("a") } }),
    good: spec({ version: "3.6.14", image: { digest: digest("b") } }),
  },
  { title: "nine learners", path: "spec.learners", bad: spec({ learners: 9 }), good: spec({ learners: 8 }) },
  {
    title: "two learners before 3.6",
    path: "spec.learners",
    bad: spec({ version: "3.5.33", learners: 2 }),
    good: spec({ version: "3.5.33", learners: 1 }),
  },
  {
    title: "a volume smaller than the quota",
    path: "spec.storage.size",
    bad: spec({ storage: { size: "4Gi" }, options: { quotaBackendBytes: "8Gi" } }),
    good: spec({ storage: { size: "16Gi" }, options: { quotaBackendBytes: 8_589_934_592 } }),
  },
  ...tlsExamples,
  {
    title: "an election timeout below five heartbeats",
    path: "spec.options.electionTimeout",
    bad: options({ heartbeatInterval: "500ms", electionTimeout: "2s" }),
    good: options({ heartbeatInterval: "500ms", electionTimeout: "2500ms" }),
  },
  {
    title: "an election timeout over 50 seconds",
    path: "spec.options.electionTimeout",
    bad: options({ electionTimeout: "1m" }),
    good: options({ electionTimeout: "50s" }),
  },
  {
    title: "no heartbeat",
    path: "spec.options.heartbeatInterval",
    bad: options({ heartbeatInterval: "0s" }),
    good: options({ heartbeatInterval: "1ms" }),
  },
  {
    title: "a duration without a unit",
    path: "spec.options.heartbeatInterval",
    bad: options({ heartbeatInterval: "100" }),
    good: options({ heartbeatInterval: "0.1s" }),
  },
  {
    title: "a periodic retention without a unit",
    path: "spec.options.autoCompaction.retention",
    bad: options({ autoCompaction: { retention: 10 } }),
    good: options({ autoCompaction: { retention: 0 } }),
  },
  {
    title: "a retention of revisions with a unit",
    path: "spec.options.autoCompaction.retention",
    bad: options({ autoCompaction: { mode: "Revision", retention: "10h" } }),
    good: options({ autoCompaction: { mode: "Revision", retention: 10_000 } }),
  },
  {
    title: "feature gates before 3.6",
    path: "spec.options.featureGates",
    bad: spec({ version: "3.5.33", options: { featureGates: { StopGRPCServiceOnDefrag: true } } }),
    good: options({ featureGates: { StopGRPCServiceOnDefrag: true } }),
  },
  {
    title: "a feature gate in lower case",
    path: "spec.options.featureGates",
    bad: options({ featureGates: { stopGRPCServiceOnDefrag: true } }),
  },
  {
    title: "a feature gate with an option of its own",
    path: "spec.options.featureGates",
    bad: options({ featureGates: { CompactHashCheck: true } }),
    good: options({ corruptCheck: { compactHash: true } }),
  },
  {
    title: "a flag with dashes in front",
    path: "spec.options.extraArgs",
    bad: options({ extraArgs: { "--max-wals": "10" } }),
    good: options({ extraArgs: { "max-wals": "10", cors: "*", "initial-election-tick-advance": "false" } }),
  },
  {
    title: "a flag that decides identity",
    path: "spec.options.extraArgs",
    bad: options({ extraArgs: { name: "other", "data-dir": "/tmp" } }),
  },
  {
    title: "a flag that splits the membership",
    path: "spec.options.extraArgs",
    bad: options({ extraArgs: { "max-learners": "3" } }),
  },
  {
    title: "a flag of a family that decides membership",
    path: "spec.options.extraArgs",
    bad: options({ extraArgs: { "initial-cluster-state": "new" } }),
  },
  {
    title: "a flag that gives up durability",
    path: "spec.options.extraArgs",
    bad: options({ extraArgs: { "unsafe-no-fsync": "true" } }),
  },
  {
    title: "a flag with an option of its own",
    path: "spec.options.extraArgs",
    bad: options({ extraArgs: { "quota-backend-bytes": "1" } }),
    good: options({ quotaBackendBytes: "4Gi" }),
  },
  ...podExamples,
  ...bootstrapExamples,
  {
    title: "a ratio in percent",
    path: "spec.maintenance.defrag.ratioAbove",
    bad: spec({ maintenance: { defrag: { ratioAbove: 45 } } }),
    good: spec({ maintenance: { defrag: { ratioAbove: 1, freeAbove: 0 } } }),
  },
  {
    title: "a window that opens at no time of day",
    path: "spec.maintenance.defrag.window.start",
    bad: spec({ maintenance: { defrag: { window: { start: "24:00", duration: "2h" } } } }),
    good: spec({ maintenance: { defrag: { window: { start: "23:30", duration: "2h", days: ["Sunday"] } } } }),
  },
  {
    title: "a window longer than a day",
    path: "spec.maintenance.defrag.window.duration",
    bad: spec({ maintenance: { defrag: { window: { start: "02:00", duration: "25h" } } } }),
  },
  {
    title: "a hash check every second",
    path: "spec.maintenance.hashCheck.interval",
    bad: spec({ maintenance: { hashCheck: { interval: "1s" } } }),
    good: spec({ maintenance: { hashCheck: { interval: "0s" } } }),
  },
  {
    title: "a member lost before it is unhealthy",
    path: "spec.repair.memberLostAfter",
    bad: spec({ repair: { unhealthyAfter: "10m" } }),
    good: spec({ repair: { unhealthyAfter: "10m", memberLostAfter: "10m" } }),
  },
  {
    title: "a bound of a recovery that a person approves",
    path: "spec.recovery.maxLostRevisions",
    bad: spec({ recovery: { maxLostRevisions: 10 } }),
    good: spec({ recovery: { quorumLoss: "Automatic", maxLostRevisions: 10 } }),
  },
];

/** What the shape of the schema refuses without a rule. */
export const shapeExamples: readonly Example[] = [
  {
    title: "a block device",
    path: "spec.storage.volumeMode",
    bad: spec({ storage: { volumeMode: "Block" } }),
    good: spec({ storage: { volumeMode: "Filesystem" } }),
  },
  { title: "no version", path: "spec.version", bad: spec({ version: undefined }) },
  { title: "a text for a number", path: "spec.replicas", bad: spec({ replicas: "three" }) },
  { title: "half a member", path: "spec.replicas", bad: spec({ replicas: 2.5 }) },
  { title: "an unknown medium", path: "spec.storage.medium", bad: storage({ medium: "Disk" }) },
  { title: "an unknown TLS mode", path: "spec.tls.mode", bad: spec({ tls: { mode: "Vault" } }) },
  {
    title: "an unknown mode of a plane",
    path: "spec.tls.peer.mode",
    bad: spec({ tls: { peer: { mode: "Auto" } } }),
    good: spec({ tls: { peer: { mode: "Disabled" } } }),
  },
  { title: "an unknown strategy", path: "spec.update.strategy", bad: spec({ update: { strategy: "Now" } }) },
  { title: "a text for a boolean", path: "spec.paused", bad: spec({ paused: "yes" }) },
  { title: "a list for an object", path: "spec.storage", bad: spec({ storage: [] }) },
  {
    title: "a deadline of zero",
    path: "spec.progressDeadlineSeconds",
    bad: spec({ progressDeadlineSeconds: 0 }),
  },
  {
    title: "too many replacements",
    path: "spec.repair.maxReplacementsPerHour",
    bad: spec({ repair: { maxReplacementsPerHour: 61 } }),
    good: spec({ repair: { maxReplacementsPerHour: 0 } }),
  },
  { title: "a version far too long", path: "spec.version", bad: spec({ version: "3.6.".padEnd(40, "1") }) },
  {
    title: "an environment variable without a name",
    path: "spec.pod.env[0].name",
    bad: pod({ env: [{ value: "x" }] }),
    good: pod({ env: [{ name: "GOGC", value: "50" }] }),
  },
  {
    title: "a flag that is no text",
    path: "spec.options.extraArgs[max-wals]",
    bad: options({ extraArgs: { "max-wals": 10 } }),
  },
  {
    title: "too many extra arguments",
    path: "spec.options.extraArgs",
    bad: options({ extraArgs: manyArgs(33) }),
  },
  {
    title: "an unknown field",
    path: "spec.replica",
    bad: spec({ replica: 3 }),
  },
];

function manyArgs(count: number): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`flag-${index}`, "x"]));
}
