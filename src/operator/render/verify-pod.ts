/**
 * The Pod that verifies a snapshot, or builds that of a point in time: our image fetches and checks it onto a scratch volume, etcd's image runs etcdutl on
 * it (there is no shell in it), then an etcd on loopback while our image compares what it serves, or replays changes
 * into it. That etcd is a sidecar, which the kubelet stops when that has ended. It has no certificate of the cluster and no address of it.
 */
import type { Container, PodSpec } from "kubernetes-types/core/v1.d.ts";
import type { SnapshotFacts } from "../../core/snapshots/facts.ts";
import { objectID } from "../../core/snapshots/names.ts";
import { REPLAY_FLAGS } from "../../snapshot/changes/replay.ts";
import { scratchEtcd, scratchRestore } from "../../snapshot/scratch.ts";
import { scratchBytes } from "../../snapshot/verification.ts";
import { PORTS, SNAPSHOT_SERVICE_ACCOUNT, VERIFY_CONTAINERS } from "../names.ts";
import { storeParts } from "./destination.ts";
import { literal } from "./literal.ts";
import { REPORTING } from "./report.ts";
import { etcdSecurity, podSecurity } from "./security.ts";
import { keyParts } from "./store-access.ts";

/** The image of the etcd that a snapshot was taken from, and how it is pulled. */
export interface EtcdImage {
  readonly image: string;
  readonly pullPolicy: string;
  readonly pullSecrets: readonly string[];
}

export interface VerifyWishes {
  /** Our own. */
  readonly image: string;
  readonly etcd: EtcdImage;
  /** The container whose end is the Pod's. */
  readonly container: string;
  readonly resultFile: string;
}

const SCRATCH = {
  directory: "/scratch",
  clientURL: `https://127.0.0.1:${PORTS.client}`,
  peerURL: `http://127.0.0.1:${PORTS.peer}`,
} as const;

/** Of mounted Secrets: for the group of the Pod alone. */
const FILE_MODE = 0o440;

/** An init container that runs beside the others: newer than the published types. */
type Sidecar = Container & { readonly restartPolicy: "Always" };

export function verifyPod(snapshot: SnapshotFacts, wishes: VerifyWishes): PodSpec {
  const { uri = "", sha256, etcdVersion = "", size = 0 } = snapshot.status;
  const object = uri.slice(uri.lastIndexOf("/") + 1);
  return scratchPod(snapshot, wishes, {
    etcdVersion,
    size,
    object,
    fetch: { verb: "verify-fetch", flags: sha256 === undefined ? [] : ["--sha256", sha256] },
    last: { verb: "verify-compare", flags: [] },
  });
}

/** Builds a point in time: the snapshot before it is restored, and changes are replayed into the etcd that serves it. */
export function buildPod(
  snapshot: SnapshotFacts,
  wishes: VerifyWishes & { readonly etcdVersion: string; readonly size: number },
): PodSpec {
  const { pointInTime: { revision, time, clusterID } = {}, compression, encryption } = snapshot.spec;
  const { etcdVersion, size } = wishes;
  return scratchPod(snapshot, wishes, {
    etcdVersion,
    // Which snapshot leads to the point is not known before; the result is a third copy, beside the two of a restore.
    size: Math.ceil(1.5 * size),
    object: "",
    fetch: {
      verb: "build-fetch",
      flags: [
        ...(revision === undefined ? [] : ["--at-revision", String(revision)]),
        ...(time === undefined ? [] : ["--at-time", time]),
        ...(clusterID === undefined ? [] : ["--cluster-id", clusterID]),
        "--etcd-version",
        etcdVersion,
      ],
    },
    last: {
      verb: "build-replay",
      flags: [
        "--id",
        objectID(snapshot),
        ...(compression === "Zstd" ? ["--compress"] : []),
        ...(encryption ? ["--encrypt"] : []),
      ],
    },
    etcdFlags: REPLAY_FLAGS,
    lastWrites: true,
  });
}

interface ScratchStep {
  readonly verb: string;
  readonly flags: readonly string[];
}

interface ScratchWork {
  readonly etcdVersion: string;
  /** Bytes of the snapshot. */
  readonly size: number;
  /** In the folder; empty for the folder itself. */
  readonly object: string;
  /** The first and the last step, with their own flags. */
  readonly fetch: ScratchStep;
  readonly last: ScratchStep;
  readonly etcdFlags?: readonly string[];
  /** The last step uses the store, too. */
  readonly lastWrites?: boolean;
}

function scratchPod({ spec }: SnapshotFacts, wishes: VerifyWishes, work: ScratchWork): PodSpec {
  const { etcd, resultFile } = wishes;
  const { etcdVersion, size, object } = work;
  const store = storeParts(spec.destination, FILE_MODE);
  const key = keyParts(spec.encryption?.keySecret, FILE_MODE);
  const scratch = { name: "scratch", mountPath: SCRATCH.directory };
  const step = ["--scratch-dir", SCRATCH.directory, "--endpoint", SCRATCH.clientURL];
  const report = ["--result-file", resultFile];
  const requests = { cpu: "50m", memory: "128Mi" };
  const ours = {
    image: wishes.image,
    imagePullPolicy: "IfNotPresent",
    securityContext: etcdSecurity(),
  } as const;
  const theirs = {
    image: etcd.image,
    imagePullPolicy: etcd.pullPolicy,
    securityContext: etcdSecurity(),
    terminationMessagePolicy: "FallbackToLogsOnError",
    resources: { requests },
    volumeMounts: [scratch],
  };
  const fetch: Container = {
    ...ours,
    name: VERIFY_CONTAINERS.fetch,
    args: [
      "snapshot",
      work.fetch.verb,
      ...REPORTING,
      ...step,
      ...report,
      ...work.fetch.flags,
      ...key.args,
      ...store.args,
      `${store.folder}${object}`,
    ].map(literal),
    ...(store.env.length > 0 && { env: [...store.env] }),
    // The scheduler looks for a node with room for it.
    resources: { requests: { ...requests, "ephemeral-storage": String(scratchBytes(size)) } },
    volumeMounts: [scratch, ...key.mounts, ...store.mounts.map((mount) => ({ ...mount, readOnly: true }))],
  };
  const etcdutl: Container = {
    ...theirs,
    name: VERIFY_CONTAINERS.etcdutl,
    command: ["etcdutl"],
    args: scratchRestore(SCRATCH, etcdVersion).map(literal),
  };
  const server: Sidecar = {
    ...theirs,
    name: VERIFY_CONTAINERS.etcd,
    command: ["etcd"],
    args: [...scratchEtcd(SCRATCH), ...(work.etcdFlags ?? [])].map(literal),
    restartPolicy: "Always",
  };
  return {
    restartPolicy: "Never",
    serviceAccountName: spec.serviceAccountName ?? SNAPSHOT_SERVICE_ACCOUNT,
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    securityContext: podSecurity("Persistent", undefined),
    ...(etcd.pullSecrets.length > 0 && { imagePullSecrets: etcd.pullSecrets.map((name) => ({ name })) }),
    initContainers: [fetch, etcdutl, server],
    containers: [
      {
        ...ours,
        name: wishes.container,
        args: [
          "snapshot",
          work.last.verb,
          ...step,
          ...report,
          ...work.last.flags,
          ...(work.lastWrites ? [...key.args, ...store.args, store.folder] : []),
        ].map(literal),
        ...(work.lastWrites && store.env.length > 0 && { env: [...store.env] }),
        resources: { requests },
        volumeMounts: [scratch, ...(work.lastWrites ? [...key.mounts, ...store.mounts] : [])],
      },
    ],
    volumes: [{ name: "scratch", emptyDir: {} }, ...key.volumes, ...store.volumes],
  };
}
