/**
 * How the kubelet asks a member: on the plain metrics port (R37), which etcd serves with any certificates and
 * without quorum. Being alive never depends on others, an alarm or a leader (R35).
 */
import type { Container, Probe } from "kubernetes-types/core/v1.d.ts";
import { livenessPatienceMs } from "../../core/assess/liveness.ts";
import type { MemberRecord } from "../../core/record.ts";
import { healthPaths } from "./health.ts";

const LIVENESS_PERIOD_S = 10;
/** As short as can be: nobody is reported a member that serves before it was asked. Kubelets ask at once, too early. */
const STARTUP_PERIOD_S = 1;
/** On top of the patience with a silent member: for reading its log and waiting for its volume. */
const STARTUP_MS = 600_000;

export function probesOf(
  record: Pick<MemberRecord, "boot" | "role" | "template">,
): Pick<Container, "startupProbe" | "livenessProbe" | "readinessProbe"> {
  const { version, options } = record.template;
  const { live, ready } = healthPaths(version, record);
  const patienceMs = livenessPatienceMs(options);
  return {
    // A large database takes long to open; ending a member meanwhile would begin it anew.
    startupProbe: {
      ...handler(live),
      periodSeconds: STARTUP_PERIOD_S,
      timeoutSeconds: 5,
      failureThreshold: Math.ceil((STARTUP_MS + patienceMs) / 1000 / STARTUP_PERIOD_S),
    },
    // H12: longer than a defragmentation at full quota.
    livenessProbe: {
      ...handler(live),
      periodSeconds: LIVENESS_PERIOD_S,
      timeoutSeconds: 5,
      failureThreshold: Math.ceil(patienceMs / 1000 / LIVENESS_PERIOD_S),
    },
    // A read through the leader: an election or a slow disk must not take all members from clients at once.
    readinessProbe: { ...handler(ready), periodSeconds: 2, timeoutSeconds: 5, failureThreshold: 5 },
  };
}

function handler(path: string | undefined): Probe {
  if (path === undefined) return { tcpSocket: { port: "metrics" } };
  return { httpGet: { path, port: "metrics", scheme: "HTTP" } };
}
