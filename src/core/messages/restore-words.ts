/** What is restored, as plans and steps name it, and why it cannot be. */

/** A snapshot by where it is, and by the name of its EtcdSnapshot where it has one. */
export const RESTORED = {
  snapshot: (name: string) => `EtcdSnapshot ${name}`,
  snapshotAt: (name: string, place: string) => `EtcdSnapshot ${name} (${place})`,
  pointIn: (
    folder: string,
    { revision, time }: { revision?: number | undefined; time?: string | undefined },
  ) => `the state at ${revision === undefined ? time : `revision ${revision}`}, as recorded in ${folder}`,
  /** Where its folder is not known. */
  somePoint: "the point in time",
  someSnapshot: "the snapshot",
  onVolume: (path: string, claim: string) => `${path} on the volume of ${claim}`,
} as const;

/** Of the snapshot that is built of a point in time. */
export const POINTS = {
  nameTaken: (snapshot: string) =>
    `EtcdSnapshot ${snapshot} exists and was made for something else: delete it`,
  noSchedule: (schedule: string | undefined) =>
    `there is no EtcdSnapshotSchedule ${schedule}: name one, or the folder of the recorded changes as destination`,
  waits: "it waits",
  formerBeingDeleted: "the one before is being deleted",
  noPlace: "its status does not say where it is",
} as const;

/** What a platform cannot restore from. */
export const PLACES = {
  fileOnPods: "Pods cannot read a file of this machine: use s3, gcs or azure, or pvc for a volume",
  claimOnMachine:
    "there are no PersistentVolumeClaims on this platform: name the snapshot in s3, gcs, azure or file",
  secretOnMachine: (field: string) =>
    `restore.${field}: there are no Secrets on this platform: leave it out, because credentials, keys and CA certificates come from the environment of the controller`,
  noSnapshots: "there are no EtcdSnapshots here: name a source",
} as const;
