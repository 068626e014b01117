/** Where the objects of a cluster are, in the namespace that the tests use. */
import { API_VERSION } from "../../src/api/metadata.ts";

const CORE = "/api/v1/namespaces/default";
const OURS = `/apis/${API_VERSION}/namespaces/default`;

export const PATHS = {
  clusters: `${OURS}/etcdclusters`,
  members: `${OURS}/etcdmembers`,
  operations: `${OURS}/etcdoperations`,
  snapshots: `${OURS}/etcdsnapshots`,
  schedules: `${OURS}/etcdsnapshotschedules`,
  users: `${OURS}/etcdusers`,
  roles: `${OURS}/etcdroles`,
  jobs: "/apis/batch/v1/namespaces/default/jobs",
  pods: `${CORE}/pods`,
  claims: `${CORE}/persistentvolumeclaims`,
  secrets: `${CORE}/secrets`,
  configMaps: `${CORE}/configmaps`,
  services: `${CORE}/services`,
  budgets: "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
} as const;
