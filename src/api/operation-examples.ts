/**
 * Good and bad EtcdOperations, for the unit tests and for the tests with a real API server.
 */
import type { EtcdOperation, EtcdOperationSpec } from "./etcd-operation.ts";
import { API_VERSION } from "./metadata.ts";
import { pointExamples } from "./point-examples.ts";

export interface OperationExample {
  readonly title: string;
  readonly spec: Partial<EtcdOperationSpec>;
  /** The spec that is stored; absent for a creation. */
  readonly old?: Partial<EtcdOperationSpec>;
  /** Where the refusal is reported; absent for one that is accepted. */
  readonly refusedAt?: string;
}

export function exampleOperation(spec: Partial<EtcdOperationSpec>, name = "demo-task"): EtcdOperation {
  return {
    apiVersion: API_VERSION,
    kind: "EtcdOperation",
    metadata: { name },
    spec: { cluster: "demo", ...spec },
  };
}

const PLAN = "0123456789abcdef";

const restore = (source: object, more: object = {}): Partial<EtcdOperationSpec> => ({
  restore: { source, ...more },
});

const S3 = { bucket: "backups", key: "demo.db" };
const AZURE = { account: "acc", container: "etcd", key: "a.db" };

/** Sources with one field that cannot be. */
const REFUSED: readonly (readonly [field: string, source: object])[] = [
  ["s3.bucket", { s3: { ...S3, bucket: "s3://backups" } }],
  ["s3.key", { s3: { ...S3, key: "prod/" } }],
  ["s3.region", { s3: { ...S3, region: "eu central" } }],
  ["s3.endpoint", { s3: { ...S3, endpoint: "minio:9000" } }],
  ["s3.credentialsSecret", { s3: { ...S3, credentialsSecret: "Not a name" } }],
  ["gcs.bucket", { gcs: { bucket: "Backups", key: "a.db" } }],
  ["gcs.endpoint", { gcs: { bucket: "backups", key: "a.db", endpoint: "https://gcs/storage" } }],
  ["azure.account", { azure: { ...AZURE, account: "My-Account" } }],
  ["azure.container", { azure: { ...AZURE, container: "etcd--prod" } }],
  ["pvc.path", { pvc: { claimName: "backups", path: "../a.db" } }],
  ["file.path", { file: { path: "a.db" } }],
];

export const operationExamples: readonly OperationExample[] = [
  { title: "defragment all members", spec: { defragment: {} } },
  { title: "defragment two members", spec: { defragment: { members: ["demo-1", "demo-2"] } } },
  { title: "compact up to a revision", spec: { compact: { revision: 1200 } } },
  { title: "compact but for the newest revisions", spec: { compact: { retain: 1000 } } },
  { title: "move leadership to any other member", spec: { moveLeader: {} } },
  { title: "move leadership to a named member", spec: { moveLeader: { to: "demo-2" } } },
  { title: "replace a member", spec: { replaceMember: { name: "demo-3" } } },
  { title: "recover by a plan", spec: { recoverQuorum: { approve: "0123456789abcdef" } } },
  {
    title: "recover by a plan that is good only with two nodes off",
    spec: { recoverQuorum: { approve: "0123456789abcdef", nodesOff: ["node-b", "node-c"] } },
  },
  {
    title: "a recovery that names a node twice",
    spec: { recoverQuorum: { approve: "0123456789abcdef", nodesOff: ["node-b", "node-b"] } },
    refusedAt: "spec.recoverQuorum.nodesOff",
  },
  {
    title: "a restore that names a node twice",
    spec: restore({ file: { path: "/a.db" } }, { nodesOff: ["node-b", "node-b"] }),
    refusedAt: "spec.restore.nodesOff",
  },
  {
    title: "a recovery without the hash of a plan",
    spec: { recoverQuorum: { approve: "yes" } },
    refusedAt: "spec.recoverQuorum.approve",
  },
  {
    title: "a restore by a plan, from each store",
    spec: restore(
      { s3: { bucket: "backups", key: "demo.db", region: "eu", endpoint: "https://minio" } },
      { approve: PLAN },
    ),
  },
  {
    title: "a restore from Google",
    spec: restore({ gcs: { bucket: "b-1", key: "a.db", endpoint: "https://gcs" } }),
  },
  {
    title: "a restore from Azure",
    spec: restore({ azure: { account: "acc", container: "etcd", key: "a.db" } }),
  },
  { title: "a restore from a claim", spec: restore({ pvc: { claimName: "backups", path: "a.db" } }) },
  {
    title: "a restore from a file with a checksum",
    spec: restore({ file: { path: "/backups/a.db" } }, { checksum: "a".repeat(64) }),
  },
  { title: "a restore of an EtcdSnapshot", spec: { restore: { snapshot: "nightly", approve: PLAN } } },
  ...pointExamples.flatMap(({ title, at, bad, good }) => [
    { title, spec: { restore: { pointInTime: bad } }, refusedAt: `spec.restore.pointInTime${at}` },
    { title: `not ${title}`, spec: { restore: { pointInTime: good, approve: PLAN } } },
  ]),
  {
    title: "a restore to a point in time with a checksum",
    spec: { restore: { pointInTime: { revision: 7, schedule: "nightly" }, checksum: "a".repeat(64) } },
    refusedAt: "spec.restore.checksum",
  },
  {
    title: "a restore to a point in time with another key than that of the schedule",
    spec: {
      restore: { pointInTime: { revision: 7, schedule: "nightly" }, encryption: { keySecret: "key" } },
    },
    refusedAt: "spec.restore.encryption",
  },
  {
    title: "a restore to a point in time and from a place",
    spec: restore({ s3: S3 }, { pointInTime: { revision: 7, schedule: "nightly" } }),
    refusedAt: "spec.restore",
  },
  {
    title: "a restore of an encrypted snapshot",
    spec: restore({ s3: S3 }, { encryption: { keySecret: "key" } }),
  },
  {
    title: "a restore of an EtcdSnapshot and from a place",
    spec: restore({ s3: S3 }, { snapshot: "nightly" }),
    refusedAt: "spec.restore",
  },
  {
    title: "a restore of an EtcdSnapshot with a checksum of its own",
    spec: { restore: { snapshot: "nightly", checksum: "a".repeat(64) } },
    refusedAt: "spec.restore.snapshot",
  },
  {
    title: "a restore of an EtcdSnapshot that has no such name",
    spec: { restore: { snapshot: "Nightly" } },
    refusedAt: "spec.restore.snapshot",
  },
  {
    title: "a restore with a key in a Secret without a name",
    spec: restore({ s3: S3 }, { encryption: { keySecret: "" } }),
    refusedAt: "spec.restore.encryption.keySecret",
  },
  ...REFUSED.map(([field, source]) => ({
    title: `a restore whose source has a wrong ${field}`,
    spec: restore(source),
    refusedAt: `spec.restore.source.${field}`,
  })),
  {
    title: "a restore with a checksum in capitals",
    spec: restore({ s3: S3 }, { checksum: "A".repeat(64) }),
    refusedAt: "spec.restore.checksum",
  },
  { title: "a restore from nowhere", spec: restore({}), refusedAt: "spec.restore.source" },
  {
    title: "a restore from two places",
    spec: restore({ file: { path: "/a.db" }, gcs: { bucket: "b-1", key: "a.db" } }),
    refusedAt: "spec.restore.source",
  },
  {
    title: "a restore approved without a hash",
    spec: restore({ file: { path: "/a.db" } }, { approve: "yes" }),
    refusedAt: "spec.restore.approve",
  },
  { title: "restart all members", spec: { restart: {}, ttlSecondsAfterFinished: 3600 } },
  { title: "restart one member", spec: { restart: { members: ["demo-1"] } } },
  { title: "reissue all certificates", spec: { rotateCertificates: {} } },
  { title: "rotate the certificate authorities", spec: { rotateCertificates: { ca: true } } },
  { title: "replace the key of auth tokens", spec: { rotateCertificates: { tokenKey: true } } },
  {
    title: "two rotations in one",
    spec: { rotateCertificates: { ca: true, tokenKey: true } },
    refusedAt: "spec.rotateCertificates",
  },
  {
    title: "collect a report, and delete it at once",
    spec: { collectReport: {}, ttlSecondsAfterFinished: 0 },
  },
  { title: "no task", spec: {}, refusedAt: "spec" },
  { title: "two tasks", spec: { defragment: {}, compact: { retain: 0 } }, refusedAt: "spec" },
  {
    title: "a cluster that no EtcdCluster can be named",
    spec: { cluster: "Demo", restart: {} },
    refusedAt: "spec.cluster",
  },
  { title: "a compaction without a bound", spec: { compact: {} }, refusedAt: "spec.compact" },
  {
    title: "a compaction with two bounds",
    spec: { compact: { revision: 7, retain: 7 } },
    refusedAt: "spec.compact",
  },
  {
    title: "a compaction up to revision 0",
    spec: { compact: { revision: 0 } },
    refusedAt: "spec.compact.revision",
  },
  {
    title: "a member that is named twice",
    spec: { restart: { members: ["demo-1", "demo-1"] } },
    refusedAt: "spec.restart.members",
  },
  {
    title: "an empty list of members",
    spec: { defragment: { members: [] } },
    refusedAt: "spec.defragment.members",
  },
  {
    title: "a time to live before it has finished",
    spec: { restart: {}, ttlSecondsAfterFinished: -1 },
    refusedAt: "spec.ttlSecondsAfterFinished",
  },
  { title: "the same again", old: { restart: {} }, spec: { restart: {} } },
  {
    title: "another member after it was created",
    old: { moveLeader: { to: "demo-1" } },
    spec: { moveLeader: { to: "demo-2" } },
    refusedAt: "spec",
  },
  {
    title: "another cluster after it was created",
    old: { restart: {} },
    spec: { cluster: "other", restart: {} },
    refusedAt: "spec",
  },
];
