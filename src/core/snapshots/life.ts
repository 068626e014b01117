/** Which life of a cluster a snapshot is of: etcd does not tell it, so whoever takes the snapshot is given it for the manifest. */

export interface ClusterLife {
  /** `initial-cluster-token`; no secret. */
  readonly token: string;
  readonly life: number;
}

/** Of `quorate snapshot save`. */
export function lifeFlags(of: ClusterLife | undefined): string[] {
  return of ? ["--cluster-token", of.token, "--cluster-life", String(of.life)] : [];
}
