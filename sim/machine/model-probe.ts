/** etcd's HTTP answers on a simulated machine: versions on the client URL, health and `/metrics` on the metrics URL. */
import { minorOf } from "../../src/core/version/version.ts";
import type { EtcdProbe, EtcdVersions, Offered } from "../../src/seams/etcd-probe.ts";
import type { Endpoint } from "../../src/seams/etcd-transport.ts";
import type { Server } from "../models/etcd/server.ts";
import type { EtcdWorld } from "../models/etcd/world.ts";
import type { KeyPair } from "../../src/seams/pki.ts";
import { fingerprintOf } from "./model-pki.ts";
import type { ModelTls } from "./model-tls.ts";

export class ModelProbe implements EtcdProbe {
  readonly #world: EtcdWorld;
  readonly #reaches: (server: Server) => boolean;
  readonly #tls: ModelTls;

  constructor(world: EtcdWorld, tls: ModelTls, reaches: (server: Server) => boolean = () => true) {
    this.#world = world;
    this.#tls = tls;
    this.#reaches = reaches;
  }

  versions(endpoint: Endpoint, signal: AbortSignal): Promise<EtcdVersions> {
    return this.#ask(signal, () => {
      const server = this.#world.network.clientAt(endpoint.url);
      if (!server?.serving) return undefined;
      const cluster = server.dir.state.clusterVersion;
      return [server, { server: server.version, ...(cluster && { cluster: `${minorOf(cluster)}.0` }) }];
    });
  }

  async alive(metricsURL: string, signal: AbortSignal): Promise<boolean> {
    try {
      return await this.#ask(signal, () => {
        const server = this.#metricsAt(metricsURL);
        return server?.runs ? [server, true] : undefined;
      });
    } catch {
      return false;
    }
  }

  /** By a read through quorum, which a learner passes on like a voter. */
  async ready(url: string, signal: AbortSignal): Promise<boolean> {
    try {
      return await this.#ask(signal, () => {
        const server = this.#metricsAt(url);
        if (!server?.runs) return undefined;
        const raft = this.#world.raftOf(server);
        const hasQuorum = raft.leaderOf(server) !== "0" && raft.writable;
        return [server, server.serving && server.synced && hasQuorum];
      });
    } catch {
      return false;
    }
  }

  async activePeers(metricsURL: string, signal: AbortSignal): Promise<ReadonlySet<string> | undefined> {
    const { network } = this.#world;
    try {
      return await this.#ask(signal, () => {
        const server = this.#metricsAt(metricsURL);
        if (!server?.runs) return undefined;
        const active = network
          .all()
          .filter((other) => other !== server && network.connected(server, other))
          .filter(({ dir }) => dir.clusterID === server.dir.clusterID);
        return [server, new Set(active.map(({ id }) => id))];
      });
    } catch {
      return undefined;
    }
  }

  async certificate(endpoint: Endpoint, signal: AbortSignal): Promise<string | undefined> {
    try {
      return await this.#ask(signal, () => {
        const server = this.#world.network.clientAt(endpoint.url);
        const text = server?.serving ? this.#tls.shown(server, "client") : undefined;
        return server && text !== undefined ? [server, fingerprintOf(text)] : undefined;
      });
    } catch {
      return undefined;
    }
  }

  async offer(endpoint: Endpoint, offered: KeyPair, signal: AbortSignal): Promise<Offered | undefined> {
    const { network } = this.#world;
    try {
      return await this.#ask(signal, () => {
        const client = network.clientAt(endpoint.url);
        const server = client ?? network.all().find(({ config }) => bound(config, endpoint.url));
        const plane = client ? "client" : "peer";
        const shown = server?.runs ? this.#tls.shown(server, plane) : undefined;
        if (!server || shown === undefined) return undefined;
        return [server, { shown, served: this.#tls.accepts(server, plane, offered.certificate) }];
      });
    } catch {
      return undefined;
    }
  }

  /** The metrics port lies beside the client port of its member. */
  #metricsAt(metricsURL: string): Server | undefined {
    const { hostname, port } = new URL(metricsURL);
    return this.#world.network.all().find(({ config }) =>
      config.listenClientURLs.some((text) => {
        const url = new URL(text);
        return url.hostname === hostname && Math.abs(Number(url.port) - Number(port)) <= 2;
      }),
    );
  }

  #ask<T>(signal: AbortSignal, look: () => [Server, T] | undefined): Promise<T> {
    return new Promise((resolve, reject) => {
      const fail = (why: string) => reject(new Error(why));
      const onAbort = () => fail("no answer in time");
      signal.addEventListener("abort", onAbort, { once: true });
      this.#world.scheduler.after(1, () => {
        const found = look();
        if (found && (found[0].frozen || !this.#reaches(found[0]))) return;
        signal.removeEventListener("abort", onAbort);
        if (found) resolve(found[1]);
        else fail("connection refused");
      });
    });
  }
}

function bound({ listenPeerURLs, peerURLs }: Server["config"], url: string): boolean {
  return listenPeerURLs.includes(url) || peerURLs.includes(url);
}
