/**
 * How a Pod of ours reaches a store: what is mounted and set for it, and the flags that name what is mounted. Secrets are
 * only ever named; what is in them does not pass through the operator.
 */
import type { EnvVar, Volume, VolumeMount } from "kubernetes-types/core/v1.d.ts";
import { ENCRYPTION_KEY } from "../../api/destination.ts";
import { CA_KEY, GCS_KEY, S3_KEYS, S3_OPTIONAL_KEY, type StorePlace } from "../../api/stores.ts";

export interface MountedParts {
  readonly args: readonly string[];
  readonly volumes: readonly Volume[];
  readonly mounts: readonly VolumeMount[];
}

export interface AccessParts extends Omit<MountedParts, "args"> {
  /** Where the CA certificates of the endpoint are. */
  readonly caFile?: string;
  readonly args: readonly string[];
  readonly env: readonly EnvVar[];
}

export const CLAIM_DIR = "/snapshots";
const CA_DIR = "/etc/quorate/store-ca";
const CREDENTIALS_DIR = "/etc/quorate/store-credentials";
const KEY_DIR = "/etc/quorate/encryption";

/** `mode`: of the files; `readOnly`: nothing is written to a claim. */
export function accessParts(
  place: StorePlace,
  { mode, readOnly }: { readonly mode: number; readonly readOnly: boolean },
): AccessParts {
  const credentials = credentialParts(place, mode);
  const { s3, gcs, azure, pvc } = place;
  const caSecret = (s3 ?? gcs ?? azure)?.caSecret;
  const ca = caSecret === undefined ? NOTHING : fromSecret("store-ca", caSecret, CA_DIR, mode, CA_KEY);
  const source = { claimName: pvc?.claimName ?? "", ...(readOnly && { readOnly }) };
  const claim = pvc && {
    volumes: [{ name: "snapshots", persistentVolumeClaim: source }],
    mounts: [{ name: "snapshots", mountPath: CLAIM_DIR, ...(readOnly && { readOnly }) }],
  };
  return {
    ...(caSecret !== undefined && { caFile: `${CA_DIR}/${CA_KEY}` }),
    args: credentials.args,
    env: credentials.env,
    volumes: [...credentials.volumes, ...ca.volumes, ...(claim?.volumes ?? [])],
    mounts: [...credentials.mounts, ...ca.mounts, ...(claim?.mounts ?? [])],
  };
}

/** S3 takes variables, Google's libraries a file, and which key a Secret for Azure has is not known here. */
function credentialParts({ s3, gcs, azure }: StorePlace, mode: number): AccessParts {
  const none = { ...NOTHING, args: [], env: [] };
  const secret = (s3 ?? gcs ?? azure)?.credentialsSecret;
  if (secret === undefined) return none;
  if (s3) {
    const variable = (key: string, optional: boolean): EnvVar => ({
      name: key,
      valueFrom: { secretKeyRef: { name: secret, key, ...(optional && { optional }) } },
    });
    return { ...none, env: [...S3_KEYS.map((key) => variable(key, false)), variable(S3_OPTIONAL_KEY, true)] };
  }
  const mounted = fromSecret("store-credentials", secret, CREDENTIALS_DIR, mode, gcs ? GCS_KEY : undefined);
  return gcs
    ? {
        ...none,
        ...mounted,
        env: [{ name: "GOOGLE_APPLICATION_CREDENTIALS", value: `${CREDENTIALS_DIR}/${GCS_KEY}` }],
      }
    : { ...none, ...mounted, args: ["--azure-credentials-dir", CREDENTIALS_DIR] };
}

/** By it Microsoft Entra Workload ID finds the Pods that it gives an identity to. */
const WORKLOAD_IDENTITY = { "azure.workload.identity/use": "true" } as const;

export function accessLabels({ azure }: StorePlace): Readonly<Record<string, string>> {
  return azure !== undefined && azure.credentialsSecret === undefined ? WORKLOAD_IDENTITY : {};
}

/** The flag and the mounted key of an encrypted snapshot; nothing without one. */
export function keyParts(keySecret: string | undefined, mode: number): MountedParts {
  if (keySecret === undefined) return { args: [], ...NOTHING };
  return {
    args: ["--encryption-key-file", `${KEY_DIR}/${ENCRYPTION_KEY}`],
    ...fromSecret("encryption-key", keySecret, KEY_DIR, mode, ENCRYPTION_KEY),
  };
}

const NOTHING: Omit<MountedParts, "args"> = { volumes: [], mounts: [] };

/** Without a key all of the Secret. */
function fromSecret(
  name: string,
  secretName: string,
  mountPath: string,
  defaultMode: number,
  key: string | undefined,
): Omit<MountedParts, "args"> {
  const secret = { secretName, defaultMode, ...(key !== undefined && { items: [{ key, path: key }] }) };
  return { volumes: [{ name, secret }], mounts: [{ name, mountPath, readOnly: true }] };
}
