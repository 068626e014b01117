/** Ports of a simulated machine: those that model etcds listen on are taken, and those a test has taken. */
import type { PortHolder, Ports } from "../../src/seams/ports.ts";
import type { EtcdWorld } from "../models/etcd/world.ts";

export class ModelPorts implements Ports {
  readonly #world: EtcdWorld;
  /** Taken by a stranger. */
  readonly taken = new Map<number, PortHolder>();

  constructor(world: EtcdWorld) {
    this.#world = world;
  }

  isFree(_host: string, port: number): Promise<boolean> {
    return Promise.resolve(!this.taken.has(port) && this.#listener(port) === undefined);
  }

  holder(port: number): Promise<PortHolder | undefined> {
    const listener = this.#listener(port);
    const own = listener && { pid: Number(listener.key), command: "etcd" };
    return Promise.resolve(this.taken.get(port) ?? own);
  }

  #listener(port: number) {
    return this.#world.network
      .all()
      .find(({ config }) =>
        [...config.listenPeerURLs, ...config.listenClientURLs].some(
          (url) => new URL(url).port === String(port),
        ),
      );
  }
}
