/**
 * Faults for tests on the stand-in kubelet, from the tests' side. Each resolves when the fault has happened,
 * not when somebody has noticed it.
 */
import type { PodView } from "./kubelet/control.ts";
import { standInAccess } from "./testbed.ts";

export interface Faults {
  /** What runs for a Pod: its address, its processes. */
  look(namespace: string, pod: string): Promise<PodView>;
  /** Kills the container's process; the restart policy decides what follows. */
  kill(
    namespace: string,
    pod: string,
    options?: { container?: string; signal?: NodeJS.Signals },
  ): Promise<void>;
  /** Stops the process without ending it: connections stay open and nothing answers. */
  freeze(namespace: string, pod: string): Promise<void>;
  thaw(namespace: string, pod: string): Promise<void>;
  /** Empties a volume and kills the container that used it. */
  loseVolume(namespace: string, pod: string, volume: string): Promise<void>;
  /** Power loss of a node: its processes are gone, its memory too, and it says nothing. */
  crashNode(node: string): Promise<void>;
  startNode(node: string): Promise<void>;
}

export function faults(bedName: string): Faults {
  const { url, token } = standInAccess(bedName);
  const call = async (method: string, path: string, query: Record<string, string | undefined> = {}) => {
    const target = new URL(path, url);
    for (const [name, value] of Object.entries(query)) if (value) target.searchParams.set(name, value);
    const response = await fetch(target, { method, headers: { authorization: `Bearer ${token}` } });
    const body = (await response.json()) as { message?: string };
    if (!response.ok) throw new Error(`${path}: ${body.message}`);
    return body;
  };
  const pod = async (
    namespace: string,
    name: string,
    action: string,
    query?: Record<string, string | undefined>,
  ) => {
    await call("POST", `/pods/${namespace}/${name}/${action}`, query);
  };
  const node = async (name: string, action: string) => {
    await call("POST", `/nodes/${name}/${action}`);
  };
  return {
    look: async (namespace, name) => (await call("GET", `/pods/${namespace}/${name}`)) as PodView,
    kill: (namespace, name, options = {}) => pod(namespace, name, "kill", options),
    freeze: (namespace, name) => pod(namespace, name, "freeze"),
    thaw: (namespace, name) => pod(namespace, name, "thaw"),
    loseVolume: (namespace, name, volume) => pod(namespace, name, "lose-volume", { volume }),
    crashNode: (name) => node(name, "crash"),
    startNode: (name) => node(name, "start"),
  };
}
