/** Every kind that the random calls are about. */
import type { Payload } from "./payload.ts";
import {
  configMapPayload,
  secretPayload,
  servicePayload,
  leasePayload,
  budgetPayload,
  claimPayload,
  classPayload,
  nodePayload,
  eventPayload,
} from "./payloads-core.ts";
import { dependentPayloads } from "./payloads-dependents.ts";
import { clusterPayload, memberPayload } from "./payloads-ours.ts";
import { podPayload } from "./payloads-pod.ts";

export const payloads: readonly Payload[] = [
  configMapPayload,
  secretPayload,
  servicePayload,
  leasePayload,
  budgetPayload,
  claimPayload,
  podPayload,
  clusterPayload,
  memberPayload,
  ...dependentPayloads,
  classPayload,
  nodePayload,
  eventPayload,
];
