/**
 * Where everything of one cluster lies under its directory. The directory is the cluster: copy it away and
 * the cluster is gone; two clusters are two directories.
 */
import path from "node:path";

export interface Layout {
  readonly dir: string;
  /** The EtcdCluster, its UID, generation and marks. */
  readonly cluster: string;
  /** Held by the controller: pid, start time and where it listens. */
  readonly lock: string;
  readonly members: string;
  readonly volumes: string;
  readonly config: string;
  readonly logs: string;
  readonly run: string;
  readonly pki: string;
  /** The EtcdOperations. */
  readonly operations: string;
  /** What was made for the recovery of this plan. */
  recovery(plan: string): string;
  readonly recoveries: string;
  operation(name: string): string;
  /** The EtcdUsers and the EtcdRoles. */
  readonly users: string;
  readonly roles: string;
  user(name: string): string;
  role(name: string): string;
  readonly tokenKeys: string;
  /** The key of this number that members sign auth tokens with. */
  tokenKey(number: number): string;
  /** Certificate and key of an EtcdUser in one file. */
  readonly userCertificates: string;
  userCertificate(user: string): string;
  /** The EtcdSnapshots and their schedules, and what processes that work for them leave. */
  readonly snapshots: string;
  readonly schedules: string;
  readonly snapshotJobs: string;
  snapshot(name: string): string;
  schedule(name: string): string;
  /** A directory for each Secret, and the file with the password in it. */
  secret(name: string): string;
  password(secret: string): string;
  /** The key that snapshots are encrypted with. */
  encryptionKey(secret: string): string;
  member(name: string): string;
  volume(name: string): VolumeLayout;
  configOf(name: string): string;
  logOf(name: string): string;
  runOf(name: string): string;
}

/** A volume is a directory with an identity beside the data: recreated by hand it is another volume. */
export interface VolumeLayout {
  readonly dir: string;
  readonly identity: string;
  readonly data: string;
  readonly wal: string;
  readonly database: string;
}

export function layout(dir: string): Layout {
  const under = (...parts: string[]) => path.join(dir, ...parts);
  return {
    dir,
    cluster: under("cluster.json"),
    lock: under("lock"),
    members: under("members"),
    volumes: under("volumes"),
    config: under("config"),
    logs: under("logs"),
    run: under("run"),
    pki: under("pki"),
    operations: under("operations"),
    recoveries: under("recovery"),
    recovery: (plan) => under("recovery", plan),
    operation: (name) => under("operations", `${name}.json`),
    users: under("users"),
    roles: under("roles"),
    user: (name) => under("users", `${name}.json`),
    role: (name) => under("roles", `${name}.json`),
    tokenKeys: under("pki", "auth-token"),
    tokenKey: (number) => under("pki", "auth-token", `${number}.key`),
    userCertificates: under("pki", "users"),
    userCertificate: (user) => under("pki", "users", `${user}.pem`),
    secret: (name) => under("secrets", name),
    password: (secret) => under("secrets", secret, "password"),
    snapshots: under("snapshots"),
    schedules: under("schedules"),
    snapshotJobs: under("run", "snapshots"),
    snapshot: (name) => under("snapshots", `${name}.json`),
    schedule: (name) => under("schedules", `${name}.json`),
    encryptionKey: (secret) => under("secrets", secret, "key"),
    member: (name) => under("members", `${name}.json`),
    volume: (name) => ({
      dir: under("volumes", name),
      identity: under("volumes", name, "volume.json"),
      data: under("volumes", name, "data"),
      wal: under("volumes", name, "data", "member", "wal"),
      database: under("volumes", name, "data", "member", "snap", "db"),
    }),
    configOf: (name) => under("config", `${name}.yaml`),
    logOf: (name) => under("logs", `${name}.log`),
    runOf: (name) => under("run", `${name}.json`),
  };
}
