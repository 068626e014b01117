/** Generates the page of metrics (`docs/metrics.md`) from the table in src/operator/serve/metrics-table.ts. */
import { METRICS } from "../../src/operator/serve/metrics-table.ts";
import type { Generator } from "../generate/registry.ts";

const INTRODUCTION = `<!-- Generated from src/operator/serve/metrics-table.ts by \`npm run generate\`. Do not edit. -->

# Metrics

\`quorate operator\` exports Prometheus metrics at \`/metrics\` on port 8080 (\`--metrics-address\`) over plaintext HTTP:

\`\`\`sh
kubectl -n quorate-system port-forward deployment/quorate 8080 &
curl -s localhost:8080/metrics | grep quorate_cluster_condition
\`\`\`

Each replica exports metrics; those about clusters and members come from the leader, whose \`quorate_lease_held\` is 1.
The series of a deleted cluster or member are removed. A metric keeps at most 20,000 series; \`quorate_metrics_dropped_total\`
counts what was dropped.

etcd's own metrics are on port 2381 of each member.

| metric | type | labels | meaning |
|---|---|---|---|
`;

const ALERTS = `
## Alerts

A starting point; adjust the durations to your service level.

\`\`\`yaml
groups:
  - name: quorate
    rules:
      - alert: EtcdClusterUnavailable
        expr: quorate_cluster_condition{condition="Available"} == 0
        for: 2m
      - alert: EtcdClusterDegraded
        expr: quorate_cluster_condition{condition="Degraded"} == 1
        for: 15m
      - alert: EtcdClusterStalled
        expr: quorate_cluster_condition{condition="Stalled"} == 1
        for: 5m
      - alert: EtcdClusterNotReady
        expr: quorate_cluster_condition{condition="Ready"} != 1
        for: 1h
      - alert: EtcdSpaceLow
        expr: quorate_cluster_condition{condition="SpaceLow"} == 1
      - alert: EtcdNotBackedUp
        expr: quorate_cluster_condition{condition="BackedUp"} == 0
        for: 15m
      - alert: EtcdSnapshotsUnverified # a schedule with spec.verify; choose two of its periods
        expr: time() - quorate_snapshot_last_verified_timestamp_seconds > 14 * 86400
      - alert: EtcdChangesNotRecorded # a schedule with spec.incremental
        expr: quorate_snapshot_changes_followed == 0
        for: 15m
      - alert: EtcdCertificateExpiresSoon
        expr: quorate_member_certificate_expiry_seconds < 7 * 86400
      - alert: EtcdOperatorClockSkew
        expr: abs(quorate_clock_skew_seconds) > 30
        for: 5m
      - alert: EtcdOperatorLeaderless
        expr: (sum(quorate_lease_held) or vector(0)) != 1
        for: 2m
      - alert: EtcdOperatorStuck
        expr: quorate_queue_oldest_wait_seconds > 300 or quorate_reconcile_longest_running_seconds > 400
\`\`\`
`;

export const metricsPage: Generator = {
  name: "metrics page (docs/metrics.md)",
  outputs: ["docs/metrics.md"],
  async generate() {
    const rows = Object.values(METRICS).map(
      ({ name, type, labels, help }) =>
        `| \`${name}\` | ${type} | ${labels.map((label) => `\`${label}\``).join(", ")} | ${help} |`,
    );
    return new Map([["docs/metrics.md", `${INTRODUCTION}${rows.join("\n")}\n${ALERTS}`]]);
  },
};
