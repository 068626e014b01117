/** The checker against a cluster that the operator runs, as an application that has the client Secret. */
import assert from "node:assert/strict";
import { GrpcTransport } from "../../src/etcd/grpc/transport.ts";
import { systemClock } from "../../src/seams/clock.ts";
import { Checker, type CheckerOptions, type CheckReport } from "./checker.ts";
import { EtcdStore } from "./checker-store.ts";
import type { ClusterOnBed } from "./operator.ts";

let applications = 0;

/** An application that writes, reads and watches, and learns of new members as they come. */
export class OperatorChecker implements AsyncDisposable {
  readonly #transport: GrpcTransport;
  readonly #checker: Checker;
  readonly #timer: NodeJS.Timeout;
  #stopped: Promise<CheckReport> | undefined;

  private constructor(transport: GrpcTransport, checker: Checker, timer: NodeJS.Timeout) {
    this.#transport = transport;
    this.#checker = checker;
    this.#timer = timer;
  }

  static async start(cluster: ClusterOnBed, options: CheckerOptions = {}): Promise<OperatorChecker> {
    const tls = await cluster.credentials();
    const transport = new GrpcTransport({ clock: systemClock, ...(tls && { tls }) });
    const store = new EtcdStore({ transport, endpoints: await cluster.endpoints() });
    // A second one in the same cluster must not find what the first has written.
    const checker = await Checker.start(store, { prefix: `check-${++applications}/`, ...options });
    const timer = setInterval(() => {
      // Between two looks a cluster may be without any Pod that has an address.
      void cluster.endpoints().then(
        (now) => (now.length > 0 ? store.setEndpoints(now) : undefined),
        () => undefined,
      );
    }, 250);
    return new OperatorChecker(transport, checker, timer);
  }

  get acknowledged(): number {
    return this.#checker.acknowledged;
  }

  stop(): Promise<CheckReport> {
    clearInterval(this.#timer);
    this.#stopped ??= this.#checker.stop();
    return this.#stopped;
  }

  /** Nothing acknowledged was lost, made up, or seen twice. */
  async judged(): Promise<CheckReport> {
    const report = await this.stop();
    assert.deepEqual([report.violations, report.lost], [[], []]);
    assert.ok(report.writes.acknowledged > 0);
    return report;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop().catch(() => undefined);
    await this.#transport.close();
  }
}
