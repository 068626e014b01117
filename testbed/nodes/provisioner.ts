/**
 * The process that makes PersistentVolumes for real nodes: the controller's half of the storage. Ready when its
 * storage classes are there.
 */
import { createServer } from "node:http";
import type { PersistentVolume, PersistentVolumeClaim } from "kubernetes-types/core/v1.d.ts";
import { Client } from "../client.ts";
import { componentKubeconfig } from "../components.ts";
import { readKubeconfig } from "../kubeconfig.ts";
import { Storage } from "../kubelet/storage.ts";
import { bedPaths } from "../paths.ts";
import { controlAddress, readBed } from "../state.ts";
import { watchObjects } from "../watch.ts";
import type { Watched } from "../watch.ts";
import { diskImages } from "./disks.ts";

const name = process.argv[2] ?? "";
const bed = readBed(name);
if (bed?.kind !== "own") throw new Error(`there is no testbed ${name}`);
const paths = bedPaths(name);
const log = (line: string) => console.log(`${new Date().toISOString()} ${line}`);

const client = new Client(readKubeconfig(componentKubeconfig(paths, "storage")));
const storage: Storage = new Storage(client, diskImages(paths.volumes), () => claims.objects, log);
await storage.register();
const failed = (error: unknown) => log((error as Error).message);
const claims: Watched<PersistentVolumeClaim> = watchObjects<PersistentVolumeClaim>({
  client,
  path: "/api/v1/persistentvolumeclaims",
  changed: (claim) => storage.claimChanged(claim),
  failed,
});
watchObjects<PersistentVolume>({
  client,
  path: "/api/v1/persistentvolumes",
  changed: (volume) => storage.volumeChanged(volume),
  failed,
});
await claims.synced;
createServer((_, response) => response.end("ok")).listen(bed.ports.kubelet, controlAddress(bed.slot));
