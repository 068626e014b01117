/** Good and bad points in time of a restore, for an EtcdCluster and an EtcdOperation alike. */

const SCHEDULED = { revision: 7, schedule: "nightly" };
const inBucket = (fields: object) => ({
  revision: 7,
  destination: { s3: { bucket: "backups", ...fields } },
});

interface PointExample {
  readonly title: string;
  /** Where the refusal is reported, below the point. */
  readonly at: string;
  readonly bad: object;
  readonly good: object;
}

export const pointExamples: readonly PointExample[] = [
  {
    title: "a point in time from a schedule and from a folder",
    at: "",
    bad: { ...SCHEDULED, destination: { s3: { bucket: "backups" } } },
    good: SCHEDULED,
  },
  {
    title: "two points in time",
    at: "",
    bad: { ...SCHEDULED, time: "2026-11-17T08:29:00Z" },
    good: { time: "2026-11-17T08:29:00Z", schedule: "nightly" },
  },
  {
    title: "a point in time in a relative directory",
    at: ".destination.file.path",
    bad: { revision: 7, destination: { file: { path: "backups" } } },
    good: { revision: 7, destination: { file: { path: "/backups" } } },
  },
  {
    title: "a point in time in a folder with a space",
    at: ".destination.s3.prefix",
    bad: inBucket({ prefix: "prod etcd" }),
    good: inBucket({ prefix: "prod/etcd" }),
  },
  {
    title: "a point in time in a folder that climbs",
    at: ".destination.s3.prefix",
    bad: inBucket({ prefix: "prod/../etcd" }),
    good: inBucket({}),
  },
  {
    title: "a point in time with a KMS key that nothing uses",
    at: ".destination.s3.kmsKey",
    bad: inBucket({ kmsKey: "key-1" }),
    good: inBucket({ sse: "aws:kms", kmsKey: "key-1" }),
  },
  {
    title: "a point in time replayed with no version",
    at: ".etcdVersion",
    bad: { ...SCHEDULED, etcdVersion: "v3.6" },
    good: { ...SCHEDULED, etcdVersion: "3.6.16" },
  },
  {
    title: "a point in time of a cluster with an ID of another form",
    at: ".clusterID",
    bad: { ...SCHEDULED, clusterID: "0xAB" },
    good: { ...SCHEDULED, clusterID: "53a67049d75b715" },
  },
];
