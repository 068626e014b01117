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

const CLUSTER = ["namespace", "cluster"];
const MEMBER = [...CLUSTER, "member"];

export const METRICS = {
  passes: metric(
    "counter",
    "passes_total",
    ["result"],
    "Passes over a cluster, by what came of them: acted, waiting, or converged.",
  ),
  decisions: metric(
    "counter",
    "decisions_total",
    ["rule", "step"],
    "Steps decided on, by the rule that wanted them and the kind of step; one that waits for its next try is counted on each pass.",
  ),
  steps: metric(
    "counter",
    "steps_total",
    ["step", "result"],
    "Steps tried, by kind and result: done or failed.",
  ),
  membershipChanges: metric(
    "counter",
    "membership_changes_total",
    ["kind"],
    "Changes of etcd's member list that were made: add, promote or remove.",
  ),
  waits: metric("counter", "waits_total", ["reason"], "Waits that began, by reason."),
  waiting: metric("gauge", "clusters_waiting", ["reason"], "Clusters that wait now, by reason."),
  problems: metric(
    "gauge",
    "clusters_with_problems",
    [],
    "Clusters of which an object could not be made as it should be on the last pass.",
  ),
  reconcile: metric(
    "histogram",
    "reconcile_duration_seconds",
    ["result"],
    "How long a reconcile took, by result: ok or error.",
    PASS_BUCKETS,
  ),
  queueDepth: metric("gauge", "queue_depth", [], "Clusters that could be looked at now and have no worker."),
  queueRunning: metric("gauge", "queue_running", [], "Clusters that are being looked at now."),
  queueOldest: metric(
    "gauge",
    "queue_oldest_wait_seconds",
    [],
    "How long the first in the queue has waited for a worker.",
  ),
  longestRun: metric(
    "gauge",
    "reconcile_longest_running_seconds",
    [],
    "How long the longest reconcile that is under way has been.",
  ),
  apiCalls: metric(
    "counter",
    "api_calls_total",
    ["verb", "resource", "code"],
    "Calls to the Kubernetes API, by verb, resource and HTTP status; none where there was no answer.",
  ),
  apiLatency: metric(
    "histogram",
    "api_call_duration_seconds",
    ["verb"],
    "How long calls to the Kubernetes API took; for watches, until they were open.",
    CALL_BUCKETS,
  ),
  storesInStep: metric(
    "gauge",
    "stores_in_step",
    ["resource"],
    "Whether the cache of a resource has seen everything and its watch is well.",
  ),
  leaseHeld: metric("gauge", "lease_held", [], "Whether this process leads."),
  eventLoopLag: metric(
    "gauge",
    "event_loop_lag_seconds",
    [],
    "How late the last heartbeat of the process was.",
  ),
  clockSkew: metric(
    "gauge",
    "clock_skew_seconds",
    [],
    "How far the clock of this process is ahead of the API server's, negative when it is behind; known to about a second.",
  ),
  nodeClockSkew: metric(
    "gauge",
    "node_clock_skew_seconds",
    ["node"],
    "How far the clock of a node is ahead of the API server's, negative when it is behind; only of nodes where it is more than 30 s.",
  ),
  memory: metric("gauge", "resident_memory_bytes", [], "Memory of the process."),
  droppedSeries: metric(
    "counter",
    "metrics_dropped_total",
    [],
    "Values not kept because a metric has too many series.",
  ),
  build: metric("gauge", "build_info", ["version"], "Always 1; the version of the operator."),
  clusters: metric("gauge", "clusters", [], "Clusters that this process has looked at and that exist."),
  members: metric(
    "gauge",
    "cluster_members",
    [...CLUSTER, "role"],
    "Members, by role: leader, follower, learner or unknown.",
  ),
  desired: metric("gauge", "cluster_desired_voters", CLUSTER, "Voting members that the spec asks for."),
  foreign: metric(
    "gauge",
    "cluster_foreign_members",
    CLUSTER,
    "Members in etcd's list that this cluster did not add; voters among them count in the quorum.",
  ),
  healthy: metric("gauge", "cluster_healthy_voters", CLUSTER, "Voting members that are healthy."),
  leaderChanges: metric(
    "counter",
    "cluster_leader_changes_total",
    CLUSTER,
    "Changes of leader that this process has seen.",
  ),
  revision: metric("gauge", "cluster_revision", CLUSTER, "Highest revision ever seen."),
  condition: metric(
    "gauge",
    "cluster_condition",
    [...CLUSTER, "condition"],
    "Whether a condition of the cluster is true (1), false (0) or unknown (-1).",
  ),
  writeGap: metric(
    "gauge",
    "cluster_longest_write_gap_seconds",
    CLUSTER,
    "Longest time without writes that this process knows of; absent where none is known.",
  ),
  memberHealthy: metric(
    "gauge",
    "member_healthy",
    MEMBER,
    "Whether a member answers and has no alarm of its own.",
  ),
  dbSize: metric("gauge", "member_db_size_bytes", MEMBER, "Size of a member's database file."),
  dbInUse: metric("gauge", "member_db_in_use_bytes", MEMBER, "Bytes of a member's database that hold data."),
  raftLag: metric(
    "gauge",
    "member_raft_lag_entries",
    MEMBER,
    "Log entries that a member is behind the leader.",
  ),
  certExpiry: metric(
    "gauge",
    "member_certificate_expiry_seconds",
    MEMBER,
    "Seconds until the first of a member's certificates ends; negative afterwards.",
  ),
} as const;
