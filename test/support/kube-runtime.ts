/**
 * The product's Kubernetes runtime on a testbed's API server, for the tests in test/kube.
 */
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { KubeClient } from "../../src/kube/client.ts";
import type { KubeConfig } from "../../src/kube/config.ts";
import { Reflector } from "../../src/kube/reflector.ts";
import { configMaps, type KubeObject } from "../../src/kube/resources.ts";
import { Http2Transport } from "../../src/kube/transport.ts";
import { systemClock } from "../../src/seams/clock.ts";
import { systemDisk } from "../../src/seams/disk.ts";
import type { KubeTransport } from "../../src/seams/kube-transport.ts";
import { systemRandom } from "../../src/seams/random.ts";
import type { TestTestbed } from "../../testbed/for-tests.ts";
import { bedPaths } from "../../testbed/paths.ts";
import { ownedProcesses } from "../../testbed/processes.ts";

export function configOf(bed: TestTestbed, change: Partial<KubeConfig> = {}): KubeConfig {
  const { server, ca = "", token = "" } = bed.access;
  return { server, ca: { text: ca }, token: { text: token }, ...change };
}

/** A dead peer is noticed within four seconds, so that tests need not wait for it; a busy one is not taken for dead. */
export function transportTo(config: KubeConfig): Http2Transport {
  return new Http2Transport({
    config,
    clock: systemClock,
    disk: systemDisk,
    patience: { connectMs: 10_000, pingEveryMs: 500, pingAnswerMs: 3_000 },
  });
}

export function clientOn(transport: KubeTransport): KubeClient {
  return new KubeClient({ transport, clock: systemClock, fieldManager: "quorate-test", timeoutMs: 20_000 });
}

export function reflectorOf(client: KubeClient, namespace: string) {
  const reflector = new Reflector({
    client,
    clock: systemClock,
    random: systemRandom,
    resource: configMaps,
    scope: { namespace, labels: { "kube-test": true } },
    backoff: { firstMs: 100, longestMs: 1_000 },
    openMs: 3_000,
  });
  reflector.start();
  return reflector;
}

/** `name version` of each, to compare a store with the server. */
export function versions(objects: readonly KubeObject[]): string[] {
  return objects
    .map(({ metadata }) => `${metadata?.name} ${metadata?.resourceVersion}`)
    .toSorted((a, b) => (a < b ? -1 : 1));
}

export function apiServerPid(bed: TestTestbed): number {
  const found = ownedProcesses(bedPaths(bed.name).dir).find(({ role }) => role === "kube-apiserver");
  if (found === undefined) throw new Error("the API server does not run");
  return found.pid;
}

export interface Relay {
  readonly url: string;
  /** Those that are open now pass nothing on any more, and nobody is told; new ones work. */
  blackhole(): void;
  /** Nothing passes any more, on new ones neither. */
  cut(): void;
  close(): void;
}

/** A way to the API server that can die without a word. */
export async function relayTo(server: string): Promise<Relay> {
  const target = new URL(server);
  const pairs = new Set<readonly [Socket, Socket]>();
  let isCut = false;
  const listener = createServer((inner) => {
    if (isCut) {
      pairs.add([inner, inner]);
      return;
    }
    const outer = connect({ host: target.hostname, port: Number(target.port) });
    pairs.add([inner, outer]);
    inner.on("error", () => outer.destroy()).pipe(outer);
    outer.on("error", () => inner.destroy()).pipe(inner);
  });
  await new Promise<void>((resolve) => void listener.listen(0, "127.0.0.1", resolve));
  const { port } = listener.address() as AddressInfo;
  const blackhole = () => {
    for (const [inner, outer] of pairs) {
      inner.unpipe(outer).pause();
      outer.unpipe(inner).pause();
    }
  };
  return {
    url: `https://127.0.0.1:${port}`,
    blackhole,
    cut() {
      isCut = true;
      blackhole();
    },
    close() {
      listener.close();
      for (const pair of pairs) for (const socket of pair) socket.destroy();
    },
  };
}
