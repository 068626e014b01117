/** The files in the Secrets of a cluster: which ones a plane has, and how they are read. */
import { Buffer } from "node:buffer";
import type { Secret } from "kubernetes-types/core/v1.d.ts";
import type { MemberRecord } from "../../core/record.ts";
import { isControlledBy } from "../../kube/resources.ts";
import type { Plane } from "../../pki/plan.ts";
import type { Pem } from "../../seams/pki.ts";
import { FILES } from "../render/config.ts";

export const PLANE_FILES = {
  client: { pemFile: FILES.serverPem, caFile: FILES.clientCA },
  peer: { pemFile: FILES.peerPem, caFile: FILES.peerCA },
} as const;

/** The cached Secrets of the cluster, by name. */
export type SecretsByName = ReadonlyMap<string, Secret>;

export function secretsByName(secrets: readonly Secret[]): SecretsByName {
  return new Map(secrets.map((secret) => [secret.metadata?.name ?? "", secret]));
}

/** Decoded each time: those of a few hundred clusters would hold megabytes. */
export function textIn({ data }: Secret, file: string): string | undefined {
  const encoded = data?.[file];
  return encoded === undefined ? undefined : Buffer.from(encoded, "base64").toString();
}

export function pemIn(secret: Secret, file: string, where: string): Pem | undefined {
  const text = textIn(secret, file);
  return text === undefined ? undefined : { text, where: `${where}, ${file}` };
}

/** Whether a member was ever given certificates of this plane: then its authority must not be another one. */
export function isPlaneInUse(
  plane: Plane,
  records: readonly MemberRecord[],
  secrets: SecretsByName,
): boolean {
  const { caFile: file } = PLANE_FILES[plane];
  return records.some(({ name, uid }) => {
    const secret = secrets.get(name);
    return secret !== undefined && isControlledBy(secret, uid) && secret.data?.[file] !== undefined;
  });
}
