/**
 * The etcd client: the calls of one cluster over a set of endpoints. It owns no connection (the
 * transport does) and keeps nothing but which endpoint answered last, who led, and the auth token.
 */
import type { Endpoint } from "../seams/etcd-transport.ts";
import { AuthCalls } from "./auth.ts";
import { Caller, type CallerOptions } from "./caller.ts";
import { ClusterCalls } from "./cluster.ts";
import { KvCalls } from "./kv.ts";
import { LeaseCalls } from "./lease.ts";
import { MaintenanceCalls } from "./maintenance.ts";
import { WatchCalls } from "./watch.ts";

export class EtcdClient {
  readonly kv: KvCalls;
  readonly lease: LeaseCalls;
  readonly watches: WatchCalls;
  readonly cluster: ClusterCalls;
  readonly maintenance: MaintenanceCalls;
  readonly auth: AuthCalls;
  readonly #caller: Caller;

  constructor(options: CallerOptions) {
    this.#caller = new Caller(options);
    this.kv = new KvCalls(this.#caller);
    this.lease = new LeaseCalls(this.#caller);
    this.watches = new WatchCalls(this.#caller);
    this.cluster = new ClusterCalls(this.#caller);
    this.maintenance = new MaintenanceCalls(this.#caller);
    this.auth = new AuthCalls(this.#caller);
  }

  get endpoints(): readonly Endpoint[] {
    return this.#caller.endpoints.all;
  }

  /** The voter that a call which any of them can answer goes to. */
  get preferred(): Endpoint | undefined {
    return this.#caller.endpoints.voters(this.#caller.clock.monotonic())[0];
  }

  /** Members came or went, or a learner became a voter. Running calls are not disturbed. */
  setEndpoints(endpoints: readonly Endpoint[]): void {
    this.#caller.replaceEndpoints(endpoints);
  }

  /** The endpoint of a member, by its name or URL. */
  endpoint(nameOrUrl: string): Endpoint | undefined {
    return this.#caller.endpoints.find(nameOrUrl);
  }
}
