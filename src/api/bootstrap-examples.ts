/** Good and bad ways to start a cluster from a snapshot. */
import type { Example } from "./example.ts";
import { pointExamples } from "./point-examples.ts";

const S3 = { bucket: "backups", key: "prod/demo.db" };

const restore = (fields: object, more: object = {}): Example["bad"] => ({
  spec: { version: "3.6.14", bootstrap: { restore: { source: { s3: S3 }, ...fields } }, ...more },
});

export const bootstrapExamples: readonly Example[] = [
  {
    title: "a snapshot from nowhere",
    path: "spec.bootstrap.restore.source",
    bad: restore({ source: {} }),
    good: restore({}),
  },
  {
    title: "a snapshot from two places",
    path: "spec.bootstrap.restore.source",
    bad: restore({ source: { s3: S3, file: { path: "/backups/demo.db" } } }),
    good: restore({ source: { file: { path: "/backups/demo.db" } } }),
  },
  {
    title: "an EtcdSnapshot and a place",
    path: "spec.bootstrap.restore",
    bad: restore({ snapshot: "nightly" }),
    good: restore({ snapshot: "nightly", source: undefined }),
  },
  {
    title: "another checksum than that of the EtcdSnapshot",
    path: "spec.bootstrap.restore.snapshot",
    bad: restore({ snapshot: "nightly", source: undefined, checksum: "a".repeat(64) }),
  },
  ...pointExamples.map(({ title, at, bad, good }) => ({
    title,
    path: `spec.bootstrap.restore.pointInTime${at}`,
    bad: restore({ source: undefined, pointInTime: bad }),
    good: restore({ source: undefined, pointInTime: good }),
  })),
  {
    title: "a point in time and a snapshot",
    path: "spec.bootstrap.restore",
    bad: restore({ pointInTime: { revision: 7, schedule: "nightly" } }),
  },
  {
    title: "the checksum of a point in time",
    path: "spec.bootstrap.restore.checksum",
    bad: restore({
      source: undefined,
      pointInTime: { revision: 7, schedule: "nightly" },
      checksum: "a".repeat(64),
    }),
  },
  {
    title: "another key than that of the schedule",
    path: "spec.bootstrap.restore.encryption",
    bad: restore({
      source: undefined,
      pointInTime: { revision: 7, schedule: "nightly" },
      encryption: { keySecret: "key" },
    }),
    good: restore({
      source: undefined,
      pointInTime: { revision: 7, destination: { s3: { bucket: "backups" } } },
      encryption: { keySecret: "key" },
    }),
  },
  {
    title: "a bucket with its scheme",
    path: "spec.bootstrap.restore.source.s3.bucket",
    bad: restore({ source: { s3: { ...S3, bucket: "s3://backups" } } }),
  },
  {
    title: "a folder in a bucket",
    path: "spec.bootstrap.restore.source.s3.key",
    bad: restore({ source: { s3: { ...S3, key: "prod/" } } }),
  },
  {
    title: "a region with a space",
    path: "spec.bootstrap.restore.source.s3.region",
    bad: restore({ source: { s3: { ...S3, region: "eu central" } } }),
    good: restore({ source: { s3: { ...S3, region: "eu-central-1" } } }),
  },
  {
    title: "an endpoint with a query",
    path: "spec.bootstrap.restore.source.s3.endpoint",
    bad: restore({ source: { s3: { ...S3, endpoint: "https://minio.example/?a=b" } } }),
    good: restore({ source: { s3: { ...S3, endpoint: "https://minio.example:9000", pathStyle: true } } }),
  },
  {
    title: "a folder of Google Cloud Storage",
    path: "spec.bootstrap.restore.source.gcs.key",
    bad: restore({ source: { gcs: { bucket: "backups", key: "prod/" } } }),
    good: restore({
      source: { gcs: { bucket: "backups", key: "prod/demo.db", credentialsSecret: "google" } },
    }),
  },
  {
    title: "a bucket of Google Cloud Storage with its scheme",
    path: "spec.bootstrap.restore.source.gcs.bucket",
    bad: restore({ source: { gcs: { bucket: "gs://backups", key: "demo.db" } } }),
  },
  {
    title: "an endpoint of Google Cloud Storage with a path",
    path: "spec.bootstrap.restore.source.gcs.endpoint",
    bad: restore({ source: { gcs: { bucket: "backups", key: "demo.db", endpoint: "https://gcs/storage" } } }),
    good: restore({ source: { gcs: { bucket: "backups", key: "demo.db", endpoint: "https://gcs:4443" } } }),
  },
  {
    title: "an account of Azure with its domain",
    path: "spec.bootstrap.restore.source.azure.account",
    bad: restore({
      source: { azure: { account: "a.blob.core.windows.net", container: "etcd", key: "demo.db" } },
    }),
  },
  {
    title: "a container of Azure with its scheme",
    path: "spec.bootstrap.restore.source.azure.container",
    bad: restore({ source: { azure: { account: "backups1", container: "azblob://etcd", key: "demo.db" } } }),
    good: restore({ source: { azure: { account: "backups1", container: "etcd", key: "prod/demo.db" } } }),
  },
  {
    title: "a relative path",
    path: "spec.bootstrap.restore.source.file.path",
    bad: restore({ source: { file: { path: "demo.db" } } }),
  },
  {
    title: "a file on a volume that climbs",
    path: "spec.bootstrap.restore.source.pvc.path",
    bad: restore({ source: { pvc: { claimName: "backups", path: "../demo.db" } } }),
    good: restore({ source: { pvc: { claimName: "backups", path: "prod/demo.db" } } }),
  },
  {
    title: "a checksum in capitals",
    path: "spec.bootstrap.restore.checksum",
    bad: restore({ checksum: "A".repeat(64) }),
    good: restore({ checksum: "a".repeat(64) }),
  },
  {
    title: "a revision that goes back",
    path: "spec.bootstrap.restore.revisionBump",
    bad: restore({ revisionBump: -5 }),
    good: restore({ revisionBump: 5_000_000 }),
  },
  {
    title: "a restore with etcd 3.4",
    path: "spec.bootstrap",
    bad: restore({ revisionBump: "None" }, { version: "3.4.37" }),
  },
  {
    title: "a raised revision before 3.5.10",
    path: "spec.bootstrap.restore.revisionBump",
    bad: restore({}, { version: "3.5.9" }),
    good: restore({ revisionBump: "None" }, { version: "3.5.9" }),
  },
];
