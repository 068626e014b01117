/**
 * Good and bad EtcdSnapshots, for the unit tests and for the tests with a real API server.
 */
import type { EtcdSnapshot, EtcdSnapshotSpec } from "./etcd-snapshot.ts";
import { API_VERSION } from "./metadata.ts";

export interface SnapshotExample {
  readonly title: string;
  readonly spec: Partial<EtcdSnapshotSpec>;
  /** The spec that is stored; absent for a creation. */
  readonly old?: Partial<EtcdSnapshotSpec>;
  /** Where the refusal is reported; absent for one that is accepted. */
  readonly refusedAt?: string;
}

const BUCKET = { s3: { bucket: "backups" } };

export function exampleSnapshot(spec: Partial<EtcdSnapshotSpec> = {}, name = "demo-once"): EtcdSnapshot {
  return {
    apiVersion: API_VERSION,
    kind: "EtcdSnapshot",
    metadata: { name },
    spec: { cluster: "demo", destination: BUCKET, ...spec },
  };
}

const s3 = (fields: object) => ({ destination: { s3: { bucket: "backups", ...fields } } });

/** Refused because of its one field. */
function refusedS3(title: string, field: Readonly<Record<string, string>>): SnapshotExample {
  return { title, spec: s3(field), refusedAt: `spec.destination.s3.${Object.keys(field)[0]}` };
}

export const snapshotExamples: readonly SnapshotExample[] = [
  { title: "a bucket", spec: {} },
  { title: "the state at a revision", spec: { pointInTime: { revision: 2500 } } },
  {
    title: "the state at a time, of one of several clusters that are gone",
    spec: {
      pointInTime: { time: "2026-11-17T08:29:00Z", clusterID: "53a67049d75b715", etcdVersion: "3.6.16" },
    },
  },
  {
    title: "two points",
    spec: { pointInTime: { revision: 2500, time: "2026-11-17T08:29:00Z" } },
    refusedAt: "spec.pointInTime",
  },
  { title: "no point", spec: { pointInTime: {} }, refusedAt: "spec.pointInTime" },
  {
    title: "a point with a minor version alone",
    spec: { pointInTime: { revision: 2500, etcdVersion: "3.6" } },
    refusedAt: "spec.pointInTime.etcdVersion",
  },
  {
    title: "a point of a cluster by its name",
    spec: { pointInTime: { revision: 2500, clusterID: "demo" } },
    refusedAt: "spec.pointInTime.clusterID",
  },
  {
    title: "a bucket of a compatible store, with everything",
    spec: {
      ...s3({
        prefix: "prod/etcd",
        endpoint: "https://minio.example.com:9000",
        region: "eu-central-1",
        pathStyle: true,
        credentialsSecret: "backup-credentials",
        caSecret: "minio-ca",
        sse: "aws:kms",
        kmsKey: "arn:aws:kms:eu-central-1:1:key/2",
      }),
      compression: "Zstd",
      encryption: { keySecret: "backup-key" },
      serviceAccountName: "backup",
      activeDeadlineSeconds: 3600,
      deletionPolicy: "Delete",
      verify: false,
    },
  },
  {
    title: "a bucket of Google Cloud Storage, with everything",
    spec: {
      destination: {
        gcs: {
          bucket: "my_backups.example.com",
          prefix: "prod/etcd",
          endpoint: "https://gcs.example.com:4443",
          credentialsSecret: "google",
          caSecret: "gcs-ca",
          kmsKey: "projects/p/locations/eu/keyRings/r/cryptoKeys/k",
        },
      },
    },
  },
  {
    title: "a container of Azure, with everything",
    spec: {
      destination: {
        azure: {
          account: "backups1",
          container: "etcd-prod",
          prefix: "prod",
          endpoint: "https://azurite.example.com:10000/backups1",
          credentialsSecret: "azure",
          caSecret: "azurite-ca",
          encryptionScope: "scope-1",
        },
      },
    },
  },
  {
    title: "a container without an account",
    spec: { destination: { azure: { container: "etcd" } } } as unknown as Partial<EtcdSnapshotSpec>,
    refusedAt: "spec.destination.azure.account",
  },
  {
    title: "an account that cannot exist",
    spec: { destination: { azure: { account: "My-Account", container: "etcd" } } },
    refusedAt: "spec.destination.azure.account",
  },
  {
    title: "a container with two dashes in a row",
    spec: { destination: { azure: { account: "backups1", container: "etcd--prod" } } },
    refusedAt: "spec.destination.azure.container",
  },
  {
    title: "a bucket of Google Cloud Storage in capitals",
    spec: { destination: { gcs: { bucket: "Backups" } } },
    refusedAt: "spec.destination.gcs.bucket",
  },
  {
    title: "an endpoint of Google Cloud Storage with a path",
    spec: { destination: { gcs: { bucket: "backups", endpoint: "https://gcs.example.com/storage" } } },
    refusedAt: "spec.destination.gcs.endpoint",
  },
  {
    title: "a user in an endpoint",
    spec: s3({ endpoint: "https://user:word@minio.example.com" }),
    refusedAt: "spec.destination.s3.endpoint",
  },
  { title: "a volume", spec: { destination: { pvc: { claimName: "backups", path: "prod/" } } } },
  { title: "a directory", spec: { destination: { file: { path: "/var/backups" } } } },
  { title: "no store", spec: { destination: {} }, refusedAt: "spec.destination" },
  {
    title: "two stores",
    spec: { destination: { ...BUCKET, pvc: { claimName: "backups" } } },
    refusedAt: "spec.destination",
  },
  {
    title: "a cluster that no EtcdCluster can be named",
    spec: { cluster: "Demo" },
    refusedAt: "spec.cluster",
  },
  {
    title: "a bucket that cannot exist",
    spec: { destination: { s3: { bucket: "My_Bucket" } } },
    refusedAt: "spec.destination.s3.bucket",
  },
  refusedS3("a prefix with a slash in front", { prefix: "/prod" }),
  refusedS3("a prefix that climbs", { prefix: "prod/../other" }),
  refusedS3("an endpoint that is no URL", { endpoint: "minio:9000" }),
  refusedS3("a region that cannot exist", { region: "eu central" }),
  refusedS3("a KMS key that is left unused", { kmsKey: "arn" }),
  refusedS3("a Secret that cannot be named so", { credentialsSecret: "Backup Credentials" }),
  {
    title: "a relative directory",
    spec: { destination: { file: { path: "backups" } } },
    refusedAt: "spec.destination.file.path",
  },
  {
    title: "a deadline of a second",
    spec: { activeDeadlineSeconds: 1 },
    refusedAt: "spec.activeDeadlineSeconds",
  },
  { title: "the same again", old: {}, spec: {} },
  {
    title: "another policy after it was created",
    old: { deletionPolicy: "Retain" },
    spec: { deletionPolicy: "Delete" },
  },
  {
    title: "a verification after it was created",
    old: { verify: false },
    spec: { verify: true },
  },
  {
    title: "another bucket after it was created",
    old: {},
    spec: { destination: { s3: { bucket: "others" } } },
    refusedAt: "spec",
  },
  {
    title: "a compression after it was created",
    old: {},
    spec: { compression: "Zstd" },
    refusedAt: "spec",
  },
];
