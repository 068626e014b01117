/**
 * How the first member of a cluster that starts from a snapshot comes by its data, in its own Pod, before etcd starts:
 * our image fetches and checks the snapshot onto the volume, etcd's image runs etcdutl (there is no shell in it), and
 * our image puts the result in its place as a whole. They work in a directory of their own, so that whatever ends them
 * half way leaves the place empty, and never touch data that is there.
 *
 * A kubelet runs them again when it makes the Pod's sandbox anew, as after a reboot, maybe months later. By then an
 * annotation of the Pod has become the flag --help, with which each of them ends at once: it is changed together with
 * the record that the member has joined.
 */
import { peerURLOf } from "../../core/config/flags.ts";
import { posix } from "node:path";
import type { Container, EnvVar, Volume, VolumeMount } from "kubernetes-types/core/v1.d.ts";
import type { RestoreRecipe } from "../../api/bootstrap.ts";
import { bytesOf } from "../../api/quantity.ts";
import { bumpOf } from "../../api/restore-values.ts";
import type { MemberRecord } from "../../core/record.ts";
import { RESTORE_CONTAINERS, ANNOTATIONS } from "../names.ts";
import { PATHS } from "./config.ts";
import { literal } from "./literal.ts";
import { REPORTING } from "./report.ts";
import { etcdSecurity } from "./security.ts";
import { accessLabels, accessParts, CLAIM_DIR, keyParts, type AccessParts } from "./store-access.ts";
import { VOLUMES } from "./volumes.ts";

const FLAG = "QUORATE_RESTORE_FLAG";
/** Of mounted Secrets: a member's Pod may have no group of its own. */
const FILE_MODE = 0o444;
/** Where `quorate snapshot stage` leaves the file and takes the directory from. */
const STAGE = `${PATHS.dataMount}/restore`;

export interface RestoreParts {
  readonly initContainers: Container[];
  readonly volumes: readonly Volume[];
  /** Of the Pod, by which clouds give it an identity. */
  readonly labels: Readonly<Record<string, string>>;
}

export interface RestoreImages {
  /** Our own. */
  readonly own: string;
  readonly etcd: Pick<Container, "image" | "imagePullPolicy" | "resources">;
}

export function restoreParts(
  record: MemberRecord,
  restore: RestoreRecipe,
  images: RestoreImages,
): RestoreParts {
  const data: VolumeMount = { name: VOLUMES.data, mountPath: PATHS.dataMount };
  const flag: EnvVar = {
    name: FLAG,
    valueFrom: { fieldRef: { fieldPath: `metadata.annotations['${ANNOTATIONS.restore}']` } },
  };
  const source = sourceParts(restore);
  const ours = {
    image: images.own,
    imagePullPolicy: "IfNotPresent",
    resources: { requests: { cpu: "50m", memory: "128Mi" } },
    securityContext: etcdSecurity(),
    terminationMessagePolicy: "FallbackToLogsOnError",
  } as const;
  const stage: Container = {
    ...ours,
    name: RESTORE_CONTAINERS.stage,
    args: [
      "snapshot",
      "stage",
      PATHS.dataMount,
      "--etcd-version",
      literal(record.template.version),
      ...REPORTING,
      ...(restore.fitsQuota
        ? ["--quota-bytes", String(bytesOf(record.template.options.quotaBackendBytes))]
        : []),
      ...source.args,
      `$(${FLAG})`,
    ],
    env: [
      flag,
      { name: "QUORATE_RESTORE", value: literal(JSON.stringify(inContainer(restore))) },
      ...source.env,
    ],
    volumeMounts: [data, ...source.mounts],
  };
  const etcdutl: Container = {
    ...images.etcd,
    name: RESTORE_CONTAINERS.etcdutl,
    command: ["etcdutl"],
    args: [...etcdutlArguments(record, restore).map(literal), `$(${FLAG})`],
    env: [flag],
    securityContext: etcdSecurity(),
    terminationMessagePolicy: "FallbackToLogsOnError",
    volumeMounts: [data],
  };
  const place: Container = {
    ...ours,
    name: RESTORE_CONTAINERS.place,
    args: ["snapshot", "place", PATHS.dataMount, `$(${FLAG})`],
    env: [flag],
    volumeMounts: [data],
  };
  return {
    initContainers: [stage, etcdutl, place],
    volumes: source.volumes,
    labels: accessLabels(restore.source),
  };
}

function etcdutlArguments(record: MemberRecord, restore: RestoreRecipe): string[] {
  const { name, token } = record;
  const peerURL = peerURLOf(record);
  const bump = bumpOf(restore);
  return [
    "snapshot",
    "restore",
    `${STAGE}/snapshot.db`,
    `--data-dir=${STAGE}/data`,
    `--name=${name}`,
    `--initial-cluster=${name}=${peerURL}`,
    `--initial-cluster-token=${token}`,
    `--initial-advertise-peer-urls=${peerURL}`,
    // Each needs the other (R24).
    ...(bump > 0 ? [`--bump-revision=${bump}`, "--mark-compacted"] : []),
  ];
}

/** What was asked for; a file of the node, which only a recovery leaves, is in another place here. */
function inContainer({
  revision: _known,
  raiseTo: _raised,
  fitsQuota: _fits,
  ...restore
}: RestoreRecipe): RestoreRecipe {
  const { file } = restore.source;
  if (file === undefined) return restore;
  return { ...restore, source: { file: { path: `${CLAIM_DIR}/${posix.basename(file.path)}` } } };
}

/** The Secrets and the claim of the source. */
export function sourceParts({ source, encryption }: RestoreRecipe): AccessParts {
  const access = accessParts(source, { mode: FILE_MODE, readOnly: true });
  const { file } = source;
  const key = keyParts(encryption?.keySecret, FILE_MODE);
  return {
    args: [
      ...(access.caFile === undefined ? [] : ["--store-ca-file", access.caFile]),
      ...access.args,
      ...key.args,
      ...(source.pvc ? ["--claim-dir", CLAIM_DIR] : []),
    ],
    env: access.env,
    mounts: [
      ...access.mounts,
      ...key.mounts,
      ...(file ? [{ name: "snapshots", mountPath: CLAIM_DIR, readOnly: true }] : []),
    ],
    volumes: [
      ...access.volumes,
      ...key.volumes,
      ...(file
        ? [{ name: "snapshots", hostPath: { path: posix.dirname(file.path), type: "Directory" } }]
        : []),
    ],
  };
}
