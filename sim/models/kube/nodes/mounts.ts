/** What Pods mount: whether it is there, which disk is behind it, and what is in the files. */
import { claims } from "../kinds/claim.ts";
import { pods } from "../kinds/pod.ts";
import { configMaps, nodes, secrets, volumes } from "../kinds/simple.ts";
import { items, json, type Json, type KubeJson } from "../object.ts";
import type { ModelServer } from "../server.ts";
import { nodeOf } from "./placing.ts";
import { hasTaint, OUT_OF_SERVICE } from "./taints.ts";
import { claimsOf } from "./volume-controller.ts";
import { diskOf } from "./volume-objects.ts";

export class Mounts {
  readonly #server: ModelServer;

  constructor(server: ModelServer) {
    this.#server = server;
  }

  /** Why a Pod cannot be started on a node yet. */
  obstacle(pod: KubeJson, node: string): string | undefined {
    const place = (name: unknown) => `${pod.metadata.namespace}/${String(name)}`;
    for (const volume of items(json(pod["spec"])["volumes"])) {
      const { secret, configMap, persistentVolumeClaim: claim } = volume;
      const { secretName, optional } = json(secret);
      if (secret !== undefined && optional !== true && !this.#server.get(secrets, place(secretName)))
        return `MountVolume.SetUp failed for volume "${String(volume["name"])}" : secret "${String(secretName)}" not found`;
      const { name, optional: free } = json(configMap);
      if (configMap !== undefined && free !== true && !this.#server.get(configMaps, place(name)))
        return `MountVolume.SetUp failed for volume "${String(volume["name"])}" : configmap "${String(name)}" not found`;
      if (claim !== undefined) {
        const why = this.#claimObstacle(place(json(claim)["claimName"]), pod, node);
        if (why !== undefined) return why;
      }
    }
    return undefined;
  }

  #claimObstacle(key: string, pod: KubeJson, node: string): string | undefined {
    const claim = this.#server.get(claims, key);
    if (json(claim?.["status"])["phase"] !== "Bound") return `persistentvolumeclaim "${key}" is not bound`;
    // One node at a time; a node that was declared out of service holds nothing any more.
    const elsewhere = this.#server.list(pods).some((other) => {
      const there = nodeOf(other);
      if (other.metadata.uid === pod.metadata.uid || there === undefined || there === node) return false;
      const holder = this.#server.get(nodes, there);
      const ended = ["Failed", "Succeeded"].includes(String(json(other["status"])["phase"]));
      return !ended && claimsOf(other).includes(key) && !(holder && hasTaint(holder, OUT_OF_SERVICE));
    });
    return elsewhere ? `Multi-Attach error for volume of claim "${key}"` : undefined;
  }

  /** By the name of the volume; the same text is the same data. Memory ends with the node's power. */
  disks(pod: KubeJson, node: string, boots: number): Readonly<Record<string, string>> {
    const found: Record<string, string> = {};
    for (const volume of items(json(pod["spec"])["volumes"])) {
      const disk = this.#disk(pod, volume, node, boots);
      if (disk !== undefined) found[String(volume["name"])] = disk;
    }
    return found;
  }

  #disk(pod: KubeJson, volume: Json, node: string, boots: number): string | undefined {
    const { persistentVolumeClaim: claim, emptyDir, hostPath, name } = volume;
    if (claim !== undefined) {
      const key = `${pod.metadata.namespace}/${String(json(claim)["claimName"])}`;
      const bound = json(this.#server.get(claims, key)?.["spec"])["volumeName"];
      const found = bound === undefined ? undefined : this.#server.get(volumes, String(bound));
      return found && diskOf(found);
    }
    if (emptyDir !== undefined) {
      const memory = json(emptyDir)["medium"] === "Memory";
      return `empty-${pod.metadata.uid}-${String(name)}${memory ? `-boot-${boots}` : ""}`;
    }
    return hostPath === undefined ? undefined : `host-${node}-${String(json(hostPath)["path"])}`;
  }

  files(pod: KubeJson, volume: string): Readonly<Record<string, string>> {
    const found = items(json(pod["spec"])["volumes"]).find(({ name }) => name === volume) ?? {};
    const { secret, configMap, projected } = found;
    const sources = projected === undefined ? [{ secret, configMap }] : items(json(projected)["sources"]);
    const files: Record<string, string> = {};
    for (const source of sources) {
      const place = (name: unknown) => `${pod.metadata.namespace}/${String(name)}`;
      const of = json(source["secret"]);
      const held = this.#server.get(secrets, place(of["secretName"] ?? of["name"]));
      for (const [name, value] of Object.entries(json(held?.["data"])))
        files[name] = Buffer.from(String(value), "base64").toString("utf8");
      const map = this.#server.get(configMaps, place(json(source["configMap"])["name"]));
      for (const [name, value] of Object.entries(json(map?.["data"]))) files[name] = String(value);
    }
    return files;
  }
}
