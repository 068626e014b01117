/**
 * Every metric of the operator: its name, type, labels and meaning. The page docs/metrics.md is generated from
 * this table, so a metric cannot exist without its explanation.
 */
import type { MetricDefinition, MetricType } from "./metrics-registry.ts";

/** Seconds. A pass over a healthy cluster takes milliseconds, a defragmentation minutes. */
const PASS_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];
const CALL_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

function metric(
  type: MetricType,
  name: string,
  labels: readonly string[],
  help: string,
  buckets?: readonly number[],
): MetricDefinition {
  return { name: `quorate_${name}`, type, labels, help, ...(buckets && { buckets }) };
}

/** Of any process, by the names that Prometheus' own clients give them: dashboards for these exist. */
function standard(
  type: MetricType,
  name: string,
  help: string,
  labels: readonly string[] = [],
): MetricDefinition {
  return { name, type, labels, help };
}

const CLUSTER = ["namespace", "cluster"];
const SCHEDULE = [...CLUSTER, "schedule"];
const MEMBER = [...CLUSTER, "member"];

export const METRICS = {
  passes: metric(
    "counter",
    "passes_total",
    ["result"],
    "Reconcile passes, by result: acted, waiting or converged.",
  ),
  decisions: metric(
    "counter",
    "decisions_total",
    ["rule", "step"],
    "Steps decided, by rule and kind of step; a step that waits for its retry is counted on each pass.",
  ),
  steps: metric(
    "counter",
    "steps_total",
    ["step", "result"],
    "Steps executed, by kind and result: done or failed.",
  ),
  membershipChanges: metric(
    "counter",
    "membership_changes_total",
    ["kind"],
    "Changes to etcd's member list: add, promote or remove.",
  ),
  waits: metric("counter", "waits_total", ["reason"], "Holds that began, by reason."),
  waiting: metric("gauge", "clusters_waiting", ["reason"], "Clusters with a hold, by reason."),
  problems: metric(
    "gauge",
    "clusters_with_problems",
    [],
    "Clusters with an object that could not be applied in the last pass.",
  ),
  managedElsewhere: metric(
    "gauge",
    "clusters_managed_elsewhere",
    [],
    "Clusters in followed namespaces that another installation of the operator manages.",
  ),
  reconcile: metric(
    "histogram",
    "reconcile_duration_seconds",
    ["result"],
    "Duration of a reconcile, by result: ok or error.",
    PASS_BUCKETS,
  ),
  queueDepth: metric("gauge", "queue_depth", [], "Clusters ready to be reconciled that wait for a worker."),
  queueRunning: metric("gauge", "queue_running", [], "Clusters being reconciled."),
  queueOldest: metric(
    "gauge",
    "queue_oldest_wait_seconds",
    [],
    "How long the oldest entry of the queue has been waiting for a worker.",
  ),
  longestRun: metric(
    "gauge",
    "reconcile_longest_running_seconds",
    [],
    "How long the longest-running reconcile has been running.",
  ),
  apiCalls: metric(
    "counter",
    "api_calls_total",
    ["verb", "resource", "code"],
    "Kubernetes API calls, by verb, resource and HTTP status code; the code is none if there was no response.",
  ),
  apiLatency: metric(
    "histogram",
    "api_call_duration_seconds",
    ["verb"],
    "Duration of Kubernetes API calls; for a watch, until it was established.",
    CALL_BUCKETS,
  ),
  storesInStep: metric(
    "gauge",
    "stores_in_step",
    ["resource"],
    "Whether the cache of a resource is synced and its watch is healthy.",
  ),
  leaseHeld: metric("gauge", "lease_held", [], "Whether this process is the leader."),
  clockSkew: metric(
    "gauge",
    "clock_skew_seconds",
    [],
    "How far this process's clock is ahead of the API server's (negative if behind), accurate to about one second.",
  ),
  nodeClockSkew: metric(
    "gauge",
    "node_clock_skew_seconds",
    ["node"],
    "How far a node's clock is ahead of the API server's (negative if behind); only for nodes that differ by more than 30 s.",
  ),
  droppedSeries: metric(
    "counter",
    "metrics_dropped_total",
    [],
    "Values dropped because a metric has too many series.",
  ),
  build: metric("gauge", "build_info", ["version"], "Version of the operator; always 1."),
  clusters: metric("gauge", "clusters", [], "Existing clusters that this process has reconciled."),
  members: metric(
    "gauge",
    "cluster_members",
    [...CLUSTER, "role"],
    "Members, by role: leader, follower, learner or unknown.",
  ),
  desired: metric("gauge", "cluster_desired_voters", CLUSTER, "Desired number of voting members."),
  foreign: metric(
    "gauge",
    "cluster_foreign_members",
    CLUSTER,
    "Members in etcd's member list that the operator did not add; voters among them count towards the quorum.",
  ),
  healthy: metric("gauge", "cluster_healthy_voters", CLUSTER, "Healthy voting members."),
  leaderChanges: metric(
    "counter",
    "cluster_leader_changes_total",
    CLUSTER,
    "Leader changes observed by this process.",
  ),
  revision: metric("gauge", "cluster_revision", CLUSTER, "Highest revision observed."),
  quotaFull: metric(
    "gauge",
    "cluster_quota_full_seconds",
    CLUSTER,
    "Seconds until the database reaches its quota if its data keeps growing as in the last hours; absent if that is more than 30 days away.",
  ),
  condition: metric(
    "gauge",
    "cluster_condition",
    [...CLUSTER, "condition"],
    "Status of a condition of the cluster: true (1), false (0) or unknown (-1).",
  ),
  snapshotTaken: metric(
    "gauge",
    "snapshot_last_success_timestamp_seconds",
    SCHEDULE,
    "When the newest snapshot of a schedule that succeeded was started, in seconds since the Unix epoch.",
  ),
  snapshotNext: metric(
    "gauge",
    "snapshot_next_timestamp_seconds",
    SCHEDULE,
    "When the next snapshot of a schedule is due, in seconds since the Unix epoch; absent while it is suspended.",
  ),
  snapshotRpo: metric(
    "gauge",
    "snapshot_rpo_seconds",
    SCHEDULE,
    "Time between the two newest snapshots of a schedule that succeeded: what a restore would have lost at most.",
  ),
  snapshotVerified: metric(
    "gauge",
    "snapshot_last_verified_timestamp_seconds",
    SCHEDULE,
    "When a snapshot of a schedule was last restored and found right, in seconds since the Unix epoch.",
  ),
  snapshotRestore: metric(
    "gauge",
    "snapshot_restore_seconds",
    SCHEDULE,
    "How long that restore took, from the first byte read to an etcd that answered.",
  ),
  changesRecorded: metric(
    "gauge",
    "snapshot_changes_timestamp_seconds",
    SCHEDULE,
    "Up to when changes are recorded by a schedule with spec.incremental, in seconds since the Unix epoch, to about a minute.",
  ),
  changesRevision: metric(
    "gauge",
    "snapshot_changes_revision",
    SCHEDULE,
    "Up to which revision changes are recorded by a schedule with spec.incremental, to about a minute.",
  ),
  changesFollowed: metric(
    "gauge",
    "snapshot_changes_followed",
    SCHEDULE,
    "Whether changes are recorded up to now (1) or not (0), by a schedule with spec.incremental.",
  ),
  memberHealthy: metric("gauge", "member_healthy", MEMBER, "Whether a member responds and has no alarm."),
  dbSize: metric("gauge", "member_db_size_bytes", MEMBER, "Size of a member's database file."),
  dbInUse: metric("gauge", "member_db_in_use_bytes", MEMBER, "Bytes in use in a member's database."),
  raftLag: metric(
    "gauge",
    "member_raft_lag_entries",
    MEMBER,
    "Number of log entries a member is behind the leader.",
  ),
  certExpiry: metric(
    "gauge",
    "member_certificate_expiry_seconds",
    MEMBER,
    "Seconds until the first of a member's certificates expires; negative once expired.",
  ),
  certificateExpiry: metric(
    "gauge",
    "certificate_expiry_seconds",
    [...CLUSTER, "certificate"],
    "Seconds until a certificate expires, by its name in status.certificates: each of a member's, the CAs', the operator's and the clients'; negative once expired.",
  ),
  userCertificateExpiry: metric(
    "gauge",
    "user_certificate_expiry_seconds",
    [...CLUSTER, "user"],
    "Seconds until the certificate of an EtcdUser expires, by the name of the EtcdUser; negative once expired.",
  ),
  cpu: standard(
    "counter",
    "process_cpu_seconds_total",
    "User and system CPU time of the process, in seconds.",
  ),
  memory: standard("gauge", "process_resident_memory_bytes", "Resident memory of the process."),
  startTime: standard(
    "gauge",
    "process_start_time_seconds",
    "Start time of the process, in seconds since the Unix epoch.",
  ),
  eventLoopLag: standard("gauge", "nodejs_eventloop_lag_seconds", "Event loop lag of the last heartbeat."),
  heapTotal: standard("gauge", "nodejs_heap_size_total_bytes", "Size of the JavaScript heap."),
  heapUsed: standard("gauge", "nodejs_heap_size_used_bytes", "Bytes in use in the JavaScript heap."),
  external: standard(
    "gauge",
    "nodejs_external_memory_bytes",
    "Memory outside of the JavaScript heap that objects in it hold.",
  ),
  nodeVersion: standard("gauge", "nodejs_version_info", "Version of Node.js; always 1.", ["version"]),
} as const;
