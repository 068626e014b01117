/**
 * Volumes: made for claims at once or when their first Pod is placed, grown, reclaimed when their claim is gone,
 * and lost. A claim in use is protected: it goes when the last Pod that uses it has gone.
 */
import { Hand, Later, type Surround } from "../controllers.ts";
import { bytesOf, type Quantity } from "../../../../src/api/quantity.ts";
import { claims, PROTECTION, requestOf } from "../kinds/claim.ts";
import { pods } from "../kinds/pod.ts";
import { storageClasses, volumes } from "../kinds/simple.ts";
import { items, json, type KubeJson } from "../object.ts";
import { diskOf, SELECTED_NODE, volumeFor } from "./volume-objects.ts";

export class VolumeController {
  readonly #around: Surround;
  readonly #hand: Hand;
  readonly #later: Later;
  readonly #onDiskGone: (disk: string) => void;

  constructor(around: Surround, onDiskGone: (disk: string) => void) {
    this.#around = around;
    this.#onDiskGone = onDiskGone;
    this.#hand = new Hand(around.server, "kube-controller-manager");
    this.#later = new Later(around, (key) => this.#look(key));
    around.server.storage.onChange(({ kind, key, type, after }) => {
      if (kind === claims && type === "DELETED") this.#released(after.object);
      else if (kind === claims) this.#later.wake(key);
      else if (kind === pods) for (const claim of claimsOf(after.object)) this.#later.wake(claim);
      else if (kind === volumes && (type === "DELETED" || phaseOf(after.object) === "Released"))
        this.#wakeClaimOf(after.object);
      else if (kind === storageClasses)
        for (const { metadata } of around.server.list(claims))
          this.#later.wake(`${metadata.namespace}/${metadata.name}`);
    });
  }

  #wakeClaimOf(volume: KubeJson): void {
    const { namespace, name } = json(json(volume["spec"])["claimRef"]);
    if (name !== undefined) this.#later.wake(`${String(namespace)}/${String(name)}`);
  }

  #look(key: string): void {
    const claim = this.#around.server.get(claims, key);
    if (!claim) return;
    if (claim.metadata.deletionTimestamp !== undefined) return this.#unprotect(key, claim);
    const volumeName = json(claim["spec"])["volumeName"];
    if (volumeName === undefined) return this.#provision(key, claim);
    const volume = this.#around.server.get(volumes, String(volumeName));
    if (!volume) return this.#lose(key);
    if (phaseOf(claim) !== "Bound") this.#bind(key, claim, volume);
    this.#grow(key, claim, volume);
  }

  /** A claim that names its volume gets it, unless the volume is reserved for another claim. */
  #bind(key: string, claim: KubeJson, volume: KubeJson): void {
    const { namespace, name, uid } = json(json(volume["spec"])["claimRef"]);
    const isIts =
      `${String(namespace)}/${String(name)}` === key && (uid ?? claim.metadata.uid) === claim.metadata.uid;
    if (!isIts) return;
    this.#hand.changeStatus(volumes, volume.metadata.name, () => ({ phase: "Bound" }));
    this.#hand.changeStatus(claims, key, (object) => ({
      ...json(object["status"]),
      phase: "Bound",
      accessModes: json(object["spec"])["accessModes"],
      capacity: json(volume["spec"])["capacity"],
    }));
  }

  #provision(key: string, claim: KubeJson): void {
    const { server } = this.#around;
    const className = json(claim["spec"])["storageClassName"];
    const storageClass = className === undefined ? undefined : server.get(storageClasses, String(className));
    if (!storageClass) return;
    const waits = storageClass["volumeBindingMode"] === "WaitForFirstConsumer";
    if (waits && claim.metadata.annotations?.[SELECTED_NODE] === undefined) return;
    const volume = volumeFor(claim, storageClass);
    const volumeName = `pvc-${claim.metadata.uid}`;
    if (server.get(volumes, volumeName) === undefined) this.#hand.create(volumes, volume);
    this.#hand.changeStatus(volumes, volumeName, () => ({ phase: "Bound" }));
    // The spec of a claim is written once, by its binder.
    this.#hand.change(claims, key, (object) => ({
      ...object,
      spec: { ...json(object["spec"]), volumeName },
    }));
    this.#hand.changeStatus(claims, key, (object) => ({
      ...json(object["status"]),
      phase: "Bound",
      accessModes: json(object["spec"])["accessModes"],
      capacity: { storage: requestOf(object) },
    }));
  }

  #lose(key: string): void {
    this.#hand.changeStatus(claims, key, ({ status }) =>
      json(status)["phase"] === "Lost" ? undefined : { ...json(status), phase: "Lost" },
    );
  }

  /** Grows in place where the class can; the file system follows at once. */
  #grow(key: string, claim: KubeJson, volume: KubeJson): void {
    const wanted = requestOf(claim);
    const has = json(json(claim["status"])["capacity"])["storage"] as Quantity | undefined;
    if (wanted === undefined || has === undefined || bytesOf(wanted) <= bytesOf(has)) return;
    const className = String(json(claim["spec"])["storageClassName"]);
    if (this.#around.server.get(storageClasses, className)?.["allowVolumeExpansion"] !== true) return;
    this.#hand.change(volumes, volume.metadata.name, (object) => ({
      ...object,
      spec: { ...json(object["spec"]), capacity: { storage: wanted } },
    }));
    this.#hand.changeStatus(claims, key, ({ status }) => ({
      ...json(status),
      capacity: { storage: wanted },
    }));
  }

  #unprotect(key: string, { metadata }: KubeJson): void {
    if (!metadata.finalizers?.includes(PROTECTION)) return;
    const used = this.#around.server
      .list(pods)
      .some(
        (pod) =>
          claimsOf(pod).includes(key) &&
          !["Failed", "Succeeded"].includes(String(json(pod["status"])["phase"])),
      );
    if (used) return;
    this.#hand.change(claims, key, (object) => {
      const finalizers = (object.metadata.finalizers ?? []).filter((one) => one !== PROTECTION);
      return { ...object, metadata: { ...object.metadata, finalizers } };
    });
  }

  /** Its claim is gone: deleted, or kept for whoever looks for it. */
  #released(claim: KubeJson): void {
    const name = json(claim["spec"])["volumeName"];
    const volume = name === undefined ? undefined : this.#around.server.get(volumes, String(name));
    if (!volume) return;
    if (json(volume["spec"])["persistentVolumeReclaimPolicy"] !== "Delete") {
      this.#hand.changeStatus(volumes, volume.metadata.name, () => ({ phase: "Released" }));
      return;
    }
    this.#hand.delete(volumes, volume.metadata.name);
    this.#onDiskGone(diskOf(volume));
  }

  /** The disk is gone, and with it the volume: its claim says Lost. */
  destroy(volumeName: string): void {
    const volume = this.#around.server.get(volumes, volumeName);
    if (!volume) return;
    this.#onDiskGone(diskOf(volume));
    this.#hand.delete(volumes, volumeName);
  }
}

/** Of a claim or a volume. */
function phaseOf(object: KubeJson): unknown {
  return json(object["status"])["phase"];
}

/** Keys of the claims that a Pod names. */
export function claimsOf(pod: KubeJson): readonly string[] {
  return items(json(pod["spec"])["volumes"]).flatMap(({ persistentVolumeClaim: claim }) =>
    claim === undefined ? [] : [`${pod.metadata.namespace}/${String(json(claim)["claimName"])}`],
  );
}
