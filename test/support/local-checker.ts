/** The checker against a cluster of the local platform, as an application with all members' addresses. */
import { GrpcTransport } from "../../src/etcd/grpc/transport.ts";
import { systemClock } from "../../src/seams/clock.ts";
import { Checker, type CheckerOptions, type CheckReport } from "./checker.ts";
import { EtcdStore } from "./checker-store.ts";
import type { LocalCluster } from "./local-cluster.ts";

export class LocalChecker implements AsyncDisposable {
  readonly #transport: GrpcTransport;
  readonly #checker: Checker;
  #stopped: Promise<CheckReport> | undefined;

  private constructor(transport: GrpcTransport, checker: Checker) {
    this.#transport = transport;
    this.#checker = checker;
  }

  static async start(local: LocalCluster, options: CheckerOptions = {}): Promise<LocalChecker> {
    const transport = new GrpcTransport({ clock: systemClock });
    const { platform } = local.controller;
    const credentials = await platform.certificates.controllerCredentials();
    if (credentials) transport.setCredentials(credentials);
    const endpoints = (await local.records()).map((record) => platform.endpoint(record));
    return new LocalChecker(transport, await Checker.start(new EtcdStore({ transport, endpoints }), options));
  }

  get acknowledged(): number {
    return this.#checker.acknowledged;
  }

  /** Ends the work and judges. */
  stop(): Promise<CheckReport> {
    this.#stopped ??= this.#checker.stop();
    return this.#stopped;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop().catch(() => undefined);
    await this.#transport.close();
  }
}
