/** Messages of a spec that cannot be followed: versions, options and Pods that are refused, or not there yet. */
import { wait } from "./message.ts";

interface Minors {
  readonly minor: string;
  /** Minors that a cluster can run. */
  readonly known: readonly string[];
}

const MINORS = ["3.5", "3.6", "3.7"];

export const VERSIONS = {
  NotARelease: wait("VersionRefused", {
    say: ({ version }: { version: string }) =>
      `${JSON.stringify(version)} is not an etcd release such as 3.6.16`,
    next: () => "Set spec.version to a released version.",
    example: { version: "latest" },
  }),
  MinorUnknown: wait("VersionRefused", {
    say: ({ minor }: Minors) => `etcd ${minor} is not supported by this operator`,
    next: ({ known }) => `Set spec.version to a release of ${known.join(", ")}.`,
    example: { minor: "3.9", known: MINORS },
  }),
  EndOfLife: wait("VersionRefused", {
    say: ({ minor }: Minors) => `etcd ${minor} is end of life, so no new cluster is started with it`,
    next: ({ known }) => `Set spec.version to a release of ${known.join(", ")}.`,
    example: { minor: "3.4", known: MINORS },
  }),
  BelowStartFloor: wait("VersionRefused", {
    say: ({ version, minor, floor }: { version: string; minor: string; floor: string; good: string }) =>
      `etcd ${version} has faults that can lose data; the oldest ${minor} for a new cluster is ${floor}`,
    next: ({ good }) => `Set spec.version to ${good}.`,
    example: { version: "3.5.2", minor: "3.5", floor: "3.5.26", good: "3.5.35" },
  }),
  BelowSafe: wait("VersionRefused", {
    say: ({ version, minor, floor }: { version: string; minor: string; floor: string }) =>
      `etcd ${version} is below the oldest safe ${minor}, ${floor}`,
    next: ({ floor }) => `Set spec.version to ${floor} or newer.`,
    example: { version: "3.5.2", minor: "3.5", floor: "3.5.26" },
  }),
  RunningUnknown: wait("VersionRefused", {
    say: ({ minor }: { minor: string }) =>
      `the cluster runs etcd ${minor}, which is not supported by this operator`,
    next: () => "Upgrade it manually to a supported version first.",
    example: { minor: "3.3" },
  }),
  NoNextMinor: wait("VersionRefused", {
    say: ({ minor }: { minor: string }) => `this operator supports no etcd minor version after ${minor}`,
    next: () => "Upgrade the operator.",
    example: { minor: "3.7" },
  }),
  DowngradeTooFar: wait("VersionRefused", {
    say: ({ from, to, minors }: { from: string; to: string; minors: number; first: string }) =>
      `etcd is downgraded one minor version at a time, and ${from} to ${to} is ${minors}`,
    next: ({ first }) => `Set spec.version to ${first} first.`,
    example: { from: "3.7", to: "3.5", minors: 2, first: "3.6.16" },
  }),
  NoOnlineDowngrade: wait("VersionRefused", {
    say: ({ minor }: { minor: string }) => `etcd ${minor} cannot be downgraded while it runs`,
    next: () => "Restore a snapshot into a new cluster of the older version.",
    example: { minor: "3.5" },
  }),
  BatchBlocksDowngrade: wait("VersionRefused", {
    say: () => "two learners once joined this cluster together, and etcd 3.5 panics when it replays that log",
    next: () => "Stay on 3.6, or restore a snapshot into a new cluster of 3.5.",
    example: {},
  }),
  VersionUnavailable: wait("VersionRefused", {
    say: ({ version, why }: { version: string; why: string }) => `etcd ${version} is not available: ${why}`,
    next: () => "Set spec.version to a version that exists.",
    example: { version: "3.6.99", why: "there is no such release" },
  }),
  VersionArriving: wait("VersionArriving", {
    say: ({ version, progress }: { version: string; progress: string }) =>
      `etcd ${version} is not installed yet: ${progress}`,
    volatile: ["progress"],
    example: { version: "3.6.16", progress: "it is being installed (downloading)" },
  }),
  OptionUnsupported: wait("OptionRefused", {
    say: ({ field, why }: { field: string; why: string }) => `spec.${field}: ${why}`,
    next: ({ field }) => `Correct or remove spec.${field}.`,
    example: { field: "options.maxConcurrentStreams", why: "etcd 3.4.45 has no limit of streams per client" },
  }),
  PodRefused: wait("PodRefused", {
    say: ({ why }: { why: string }) => `spec.pod: the API server rejects the new Pod: ${why}`,
    next: () => "Correct spec.pod, or what it refers to; running members are unaffected.",
    example: { why: "spec.nodeName: Invalid value" },
  }),
  PodUnverified: wait("PodUnverified", {
    say: ({ why }: { why: string }) =>
      `spec.pod: could not dry-run the new Pod (${why}); no member is restarted until it passes`,
    example: { why: 'failed calling webhook "policy.example": connection refused' },
  }),
  TokenKeyMissing: wait("TokenKeyMissing", {
    say: ({ why }: { why: string }) => `spec.auth.token: ${why}; no member is restarted until it has`,
    example: { why: "Secret default/demo-auth-token has no key 1 to sign auth tokens with: exceeded quota" },
  }),
} as const;
