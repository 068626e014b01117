/**
 * A destination of snapshots as a Pod of ours uses it: the place and the flags for `quorate snapshot`, and what has to
 * be mounted and set for them. Secrets are only ever named; what is in them does not pass through the operator.
 */
import type { EnvVar, Volume, VolumeMount } from "kubernetes-types/core/v1.d.ts";
import {
  CA_KEY,
  CREDENTIAL_KEYS,
  ENCRYPTION_KEY,
  OPTIONAL_CREDENTIAL_KEY,
  type Destination,
  type S3Destination,
} from "../../api/destination.ts";

export interface StoreParts {
  /** With a slash at its end. */
  readonly folder: string;
  readonly args: readonly string[];
  readonly env: readonly EnvVar[];
  readonly volumes: readonly Volume[];
  readonly mounts: readonly VolumeMount[];
}

const CLAIM_DIR = "/snapshots";
const CA_DIR = "/etc/quorate/store-ca";
const KEY_DIR = "/etc/quorate/encryption";

export function storeParts({ s3, pvc }: Destination): StoreParts {
  if (s3) return bucketParts(s3);
  const { claimName = "", path = "" } = pvc ?? {};
  return {
    folder: `file://${CLAIM_DIR}/${withSlash(path)}`,
    args: [],
    env: [],
    volumes: [{ name: "snapshots", persistentVolumeClaim: { claimName } }],
    mounts: [{ name: "snapshots", mountPath: CLAIM_DIR }],
  };
}

function bucketParts(s3: S3Destination): StoreParts {
  const { bucket, prefix = "", endpoint, region, pathStyle, credentialsSecret, caSecret, sse, kmsKey } = s3;
  const flag = (name: string, value: string | undefined) => (value === undefined ? [] : [`--${name}`, value]);
  const secretEnv = (key: string, optional: boolean): EnvVar => ({
    name: key,
    valueFrom: { secretKeyRef: { name: credentialsSecret ?? "", key, ...(optional && { optional }) } },
  });
  return {
    folder: `s3://${bucket}/${withSlash(prefix)}`,
    args: [
      ...flag("s3-endpoint", endpoint),
      ...flag("s3-region", region),
      ...(pathStyle === undefined ? [] : [pathStyle ? "--s3-path-style" : "--s3-virtual-host"]),
      ...(caSecret === undefined ? [] : ["--s3-ca-file", `${CA_DIR}/${CA_KEY}`]),
      ...flag("s3-sse", sse),
      ...flag("s3-kms-key", kmsKey),
    ],
    env:
      credentialsSecret === undefined
        ? []
        : [...CREDENTIAL_KEYS.map((key) => secretEnv(key, false)), secretEnv(OPTIONAL_CREDENTIAL_KEY, true)],
    ...(caSecret === undefined
      ? { volumes: [], mounts: [] }
      : fromSecret("store-ca", caSecret, CA_KEY, CA_DIR)),
  };
}

/** The flag and the mounted key of an encrypted snapshot; nothing without one. */
export function keyParts(keySecret: string | undefined): Pick<StoreParts, "args" | "volumes" | "mounts"> {
  if (keySecret === undefined) return { args: [], volumes: [], mounts: [] };
  return {
    args: ["--encryption-key-file", `${KEY_DIR}/${ENCRYPTION_KEY}`],
    ...fromSecret("encryption-key", keySecret, ENCRYPTION_KEY, KEY_DIR),
  };
}

function fromSecret(name: string, secretName: string, key: string, mountPath: string) {
  return {
    volumes: [{ name, secret: { secretName, defaultMode: 0o440, items: [{ key, path: key }] } }],
    mounts: [{ name, mountPath, readOnly: true }],
  };
}

/** As people are told where an object is, whatever path a Pod has it under. */
export function shownURI({ s3, pvc, file }: Destination, object: string): string {
  if (s3) return `s3://${s3.bucket}/${withSlash(s3.prefix ?? "")}${object}`;
  if (pvc) return `pvc://${pvc.claimName}/${withSlash(pvc.path ?? "")}${object}`;
  return `file://${withSlash(file?.path ?? "/")}${object}`;
}

function withSlash(path: string): string {
  return path === "" || path.endsWith("/") ? path : `${path}/`;
}
