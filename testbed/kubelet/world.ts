/**
 * What the parts of the stand-in kubelet share: the API server, the objects they watch, and where things are.
 */
import { join } from "node:path";
import type { ConfigMap, Pod, Secret, Service } from "kubernetes-types/core/v1.d.ts";
import type { Client } from "../client.ts";
import type { OwnBed } from "../state.ts";
import type { Images } from "./images.ts";

export interface World {
  client: Client;
  bed: OwnBed;
  /** Everything the stand-in keeps is below this directory. */
  dir: string;
  /** Also below it, named in every process we start. */
  bedDir: string;
  images: Images;
  pods: ReadonlyMap<string, Pod>;
  services: ReadonlyMap<string, Service>;
  secrets: ReadonlyMap<string, Secret>;
  configMaps: ReadonlyMap<string, ConfigMap>;
  /** Directory of a bound claim, or why there is none yet. */
  claimDir(namespace: string, claim: string): { dir: string } | { waiting: string };
  /** The name server that Pods ask; undefined where port 53 is not ours to take. */
  nameserver(): string | undefined;
  /** Lines for /etc/hosts where there is no name server. */
  hostLines(): string[];
  log: (line: string) => void;
}

export function podDir(world: Pick<World, "dir">, uid: string): string {
  return join(world.dir, "pods", uid);
}

export interface Identity {
  namespace: string;
  name: string;
  uid: string;
}

export function identity(pod: Pod): Identity {
  const { namespace, name, uid } = pod.metadata ?? {};
  if (!namespace || !name || !uid) throw new Error("a Pod without namespace, name and uid");
  return { namespace, name, uid };
}

/** Tells the API server about something that happened, for people who describe the Pod. Best effort. */
export function emitEvent(
  world: World,
  pod: Pod,
  type: "Normal" | "Warning",
  reason: string,
  message: string,
): void {
  const { namespace, name, uid } = identity(pod);
  const now = new Date().toISOString();
  world.client
    .create(`/api/v1/namespaces/${namespace}/events`, {
      metadata: { generateName: `${name}.`, namespace },
      involvedObject: { apiVersion: "v1", kind: "Pod", namespace, name, uid },
      type,
      reason,
      message: message.slice(0, 1000),
      source: { component: "kubelet", host: pod.spec?.nodeName ?? "" },
      firstTimestamp: now,
      lastTimestamp: now,
      count: 1,
    })
    .catch((error: unknown) =>
      world.log(`event ${reason} of ${namespace}/${name}: ${(error as Error).message}`),
    );
}
