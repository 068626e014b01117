/**
 * Storage: a provisioner. Claims are bound by the real controllers; this makes the PersistentVolumes, follows
 * expansions, and deletes what a claim leaves behind when its class says so. What a volume is made of is the
 * backing's business: a directory for the stand-in kubelet, a disk image for real nodes.
 */
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { PersistentVolume, PersistentVolumeClaim } from "kubernetes-types/core/v1.d.ts";
import type { StorageClass } from "kubernetes-types/storage/v1.d.ts";
import type { Client } from "../client.ts";
import { isCode } from "../client.ts";
import { quantity } from "./environment.ts";

/** Volumes of `disk` follow their Pod to any node, like a cloud's; those of `local` stay on theirs. */
export const DISK = "disk.testbed.quorate.dev";
const LOCAL = "local.testbed.quorate.dev";
const PROVISIONED_BY = "pv.kubernetes.io/provisioned-by";

function storageClass(name: string, provisioner: string, options: Partial<StorageClass> = {}): StorageClass {
  return {
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    metadata: { name },
    provisioner,
    reclaimPolicy: "Delete",
    volumeBindingMode: "WaitForFirstConsumer",
    allowVolumeExpansion: true,
    ...options,
  };
}

const CLASSES: StorageClass[] = [
  storageClass("standard", DISK, {
    metadata: { name: "standard", annotations: { "storageclass.kubernetes.io/is-default-class": "true" } },
  }),
  storageClass("immediate", DISK, { volumeBindingMode: "Immediate" }),
  storageClass("retain", DISK, { reclaimPolicy: "Retain" }),
  storageClass("fixed", DISK, { allowVolumeExpansion: false }),
  storageClass("local", LOCAL),
];

export interface Backing {
  create(volume: string, bytes: number): void | Promise<void>;
  remove(volume: string): void;
  /** Where a node-bound volume is a path of the node; nowhere if the CSI driver finds it by its name. */
  localPath?(volume: string): string;
  /** A real kubelet grows the file system and says so itself; without one the new size is true at once. */
  grownByKubelet: boolean;
}

/** Volumes as directories, without a size. */
export function directories(dir: string): Backing & { localPath(volume: string): string } {
  const path = (volume: string) => join(dir, volume);
  return {
    create: (volume) => void mkdirSync(path(volume), { recursive: true }),
    remove: (volume) => rmSync(path(volume), { recursive: true, force: true }),
    localPath: path,
    grownByKubelet: false,
  };
}

export class Storage {
  readonly #client: Client;
  readonly #backing: Backing;
  readonly #log: (line: string) => void;
  readonly #claims: () => ReadonlyMap<string, PersistentVolumeClaim>;
  readonly #busy = new Set<string>();

  constructor(
    client: Client,
    backing: Backing,
    claims: () => ReadonlyMap<string, PersistentVolumeClaim>,
    log: (line: string) => void,
  ) {
    this.#client = client;
    this.#backing = backing;
    this.#claims = claims;
    this.#log = log;
  }

  async register(): Promise<void> {
    await this.#client.apply(`/apis/storage.k8s.io/v1/csidrivers/${DISK}`, {
      apiVersion: "storage.k8s.io/v1",
      kind: "CSIDriver",
      metadata: { name: DISK },
      spec: { attachRequired: false, podInfoOnMount: false, fsGroupPolicy: "File" },
    });
    await Promise.all(
      CLASSES.map((c) => this.#client.apply(`/apis/storage.k8s.io/v1/storageclasses/${c.metadata?.name}`, c)),
    );
  }

  /** The volume that a claim is bound to. */
  volumeOf(namespace: string, name: string): { volume: string } | { waiting: string } {
    const claim = this.#claims().get(`${namespace}/${name}`);
    if (!claim) return { waiting: `persistentvolumeclaim "${name}" not found` };
    const volume = claim.spec?.volumeName;
    if (!volume || claim.status?.phase !== "Bound")
      return { waiting: `persistentvolumeclaim "${name}" is not bound` };
    return { volume };
  }

  claimChanged(claim: PersistentVolumeClaim | undefined): void {
    if (claim) this.#once(`claim ${claim.metadata?.uid}`, () => this.#syncClaim(claim));
  }

  volumeChanged(volume: PersistentVolume | undefined): void {
    if (volume) this.#once(`volume ${volume.metadata?.name}`, () => this.#syncVolume(volume));
  }

  async #syncClaim(claim: PersistentVolumeClaim): Promise<void> {
    const { annotations = {}, deletionTimestamp } = claim.metadata ?? {};
    const provisioner = annotations["volume.kubernetes.io/storage-provisioner"];
    if (provisioner !== DISK && provisioner !== LOCAL) return;
    if (!claim.spec?.volumeName) {
      if (!deletionTimestamp) await this.#provision(claim, provisioner);
      return;
    }
    const wanted = claim.spec.resources?.requests?.["storage"];
    const has = claim.status?.capacity?.["storage"];
    if (claim.status?.phase === "Bound" && wanted && has && quantity(wanted) > quantity(has))
      await this.#expand(claim, wanted);
  }

  async #provision(claim: PersistentVolumeClaim, provisioner: string): Promise<void> {
    const { name = "", namespace = "", uid = "", annotations = {} } = claim.metadata ?? {};
    const className = claim.spec?.storageClassName ?? "";
    const details = await this.#client.get<StorageClass>(
      `/apis/storage.k8s.io/v1/storageclasses/${className}`,
    );
    const node = annotations["volume.kubernetes.io/selected-node"];
    if (details.volumeBindingMode === "WaitForFirstConsumer" && !node) return;
    const volume = `pvc-${uid}`;
    const storage = claim.spec?.resources?.requests?.["storage"] ?? "1Gi";
    await this.#backing.create(volume, quantity(storage));
    const path = this.#backing.localPath?.(volume);
    const onNode = {
      required: {
        nodeSelectorTerms: [
          { matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values: [node ?? ""] }] },
        ],
      },
    };
    const object: PersistentVolume = {
      apiVersion: "v1",
      kind: "PersistentVolume",
      metadata: { name: volume, annotations: { [PROVISIONED_BY]: provisioner } },
      spec: {
        capacity: { storage },
        accessModes: claim.spec?.accessModes ?? ["ReadWriteOnce"],
        persistentVolumeReclaimPolicy: details.reclaimPolicy ?? "Delete",
        storageClassName: className,
        volumeMode: "Filesystem",
        claimRef: { apiVersion: "v1", kind: "PersistentVolumeClaim", namespace, name, uid },
        ...(provisioner === LOCAL && { nodeAffinity: onNode }),
        ...(provisioner === LOCAL && path
          ? { local: { path } }
          : { csi: { driver: DISK, volumeHandle: volume, fsType: "ext4" } }),
      },
    };
    await this.#client.create("/api/v1/persistentvolumes", object).catch((error: unknown) => {
      if (!isCode(error, 409)) throw error;
    });
  }

  async #expand(claim: PersistentVolumeClaim, storage: string): Promise<void> {
    const { name = "", namespace = "" } = claim.metadata ?? {};
    const kubelet = this.#backing.grownByKubelet;
    const pending = claim.status?.conditions?.some(({ type }) => type === "FileSystemResizePending");
    if (kubelet && pending && claim.status?.allocatedResources?.["storage"] === storage) return;
    await this.#client.patch(`/api/v1/persistentvolumes/${claim.spec?.volumeName}`, {
      spec: { capacity: { storage } },
    });
    const waitsForKubelet = {
      allocatedResources: { storage },
      allocatedResourceStatuses: { storage: "NodeResizePending" },
      conditions: [
        {
          type: "FileSystemResizePending",
          status: "True",
          lastTransitionTime: new Date().toISOString(),
          message: "Waiting for the kubelet to grow the file system",
        },
      ],
    };
    await this.#client.patch(`/api/v1/namespaces/${namespace}/persistentvolumeclaims/${name}/status`, {
      status: kubelet ? waitsForKubelet : { capacity: { storage } },
    });
  }

  async #syncVolume(volume: PersistentVolume): Promise<void> {
    const { name = "", annotations = {}, deletionTimestamp } = volume.metadata ?? {};
    const provisioner = annotations[PROVISIONED_BY];
    if (provisioner !== DISK && provisioner !== LOCAL) return;
    if (volume.status?.phase !== "Released" || volume.spec?.persistentVolumeReclaimPolicy !== "Delete")
      return;
    this.#backing.remove(name);
    if (!deletionTimestamp) await this.#client.delete(`/api/v1/persistentvolumes/${name}`);
  }

  /** One thing at a time for each object; whatever changes meanwhile comes with its own event. */
  #once(key: string, work: () => Promise<void>, again = 0): void {
    if (this.#busy.has(key) && again === 0) return;
    this.#busy.add(key);
    work()
      .then(() => this.#busy.delete(key))
      .catch((error: unknown) => {
        this.#log(`${key}: ${(error as Error).message}`);
        // An object that is gone needs nothing more.
        if (again >= 20 || isCode(error, 404)) this.#busy.delete(key);
        else setTimeout(() => this.#once(key, work, again + 1), 250);
      });
  }
}
