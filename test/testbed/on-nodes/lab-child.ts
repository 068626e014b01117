/**
 * The operator and an application where the nodes' host is, so that they reach Pods as they would inside of the
 * cluster. Started by lab.ts, which calls these functions from the test's own process.
 */
import { Client } from "../../../testbed/client.ts";
import { readKubeconfig } from "../../../testbed/kubeconfig.ts";
import { readBed } from "../../../testbed/state.ts";
import { eventually } from "../../../testbed/eventually.ts";
import type { TestTestbed } from "../../../testbed/for-tests.ts";
import { bedPaths } from "../../../testbed/paths.ts";
import { secretFiles } from "../../support/bed-secrets.ts";
import { ClusterOnBed, define, startOperator, type Running } from "../../support/operator.ts";
import { OperatorChecker } from "../../support/operator-checker.ts";
import type { OperationPhase } from "../../../src/api/status-words.ts";
import { servedStrangers } from "../../support/strangers.ts";
import { Writer } from "../../support/writer.ts";
import { EtcdClient } from "../../../src/etcd/client.ts";
import { isEtcdError } from "../../../src/etcd/errors.ts";
import { GrpcTransport } from "../../../src/etcd/grpc/transport.ts";
import { systemClock } from "../../../src/seams/clock.ts";

const name = process.argv[2] ?? "";
const { kubeconfig } = bedPaths(name);
const access = readKubeconfig(kubeconfig);
const bed: TestTestbed = {
  name,
  kubeconfig,
  access,
  client: new Client(access),
  bed: readBed(name) as TestTestbed["bed"],
  down: () => Promise.reject(new Error("the test's own process does that")),
};

let running: Running | undefined;
const clusters = new Map<string, ClusterOnBed>();
const checkers = new Map<string, OperatorChecker>();
const writers = new Map<string, Writer>();

function cluster(of: string): ClusterOnBed {
  const known = clusters.get(of) ?? new ClusterOnBed(bed, of, running);
  clusters.set(of, known);
  return known;
}

type Login = NonNullable<ConstructorParameters<typeof EtcdClient>[0]["credentials"]>;

const methods = {
  define: () => define(bed),
  startOperator(): void {
    running = startOperator(bed);
  },
  async stopOperator(): Promise<void> {
    await running?.stop();
    running = undefined;
  },
  create: (of: string, spec: object) => cluster(of).create(spec),
  edit: (of: string, spec: object) => cluster(of).edit(spec),
  ask: (of: string, operation: string, spec: Parameters<ClusterOnBed["ask"]>[1]) =>
    cluster(of).ask(operation, spec),
  /** A rotation on real kubelets takes minutes: they bring Secrets to a running Pod about once a minute. */
  async operationIs(of: string, operation: string, phase: OperationPhase): Promise<void> {
    const { status } = await eventually(
      `${operation} is ${phase}`,
      async () => {
        const found = await cluster(of).operation(operation);
        return found.status?.phase === phase ? found : undefined;
      },
      { withinMs: 15 * 60_000, everyMs: 1_000 },
    );
    if (!status) throw new Error(`${operation} has no status`);
  },
  converged: (of: string, replicas: number) => cluster(of).converged(replicas),
  waitFor: (of: string, type: string, status?: string) => cluster(of).waitFor(type, status),
  assertSound: (of: string, voters: number) => cluster(of).assertSound(voters),
  async put(of: string, key: string, value: string): Promise<void> {
    const client = await cluster(of).etcd();
    await client.kv.put(key, value, { timeoutMs: 3_000 });
  },
  /** Fails unless a read through quorum finds the key. */
  async has(of: string, key: string): Promise<void> {
    const client = await cluster(of).etcd();
    const { count } = await client.kv.range(key, { countOnly: true, timeoutMs: 5_000 });
    if (count !== 1) throw new Error(`${of} has lost ${key}`);
  },
  async startChecker(of: string): Promise<void> {
    checkers.set(of, await OperatorChecker.start(cluster(of)));
  },
  acknowledged: (of: string) => Promise.resolve(checkers.get(of)?.acknowledged ?? 0),
  /** The longest time without a write, and how many there were. */
  async judged(of: string): Promise<{ gapMs: number; writes: number }> {
    const checker = checkers.get(of);
    if (!checker) throw new Error(`no application writes to ${of}`);
    checkers.delete(of);
    const { longestWriteGapMs, writes } = await checker.judged();
    await checker[Symbol.asyncDispose]();
    return { gapMs: Math.round(longestWriteGapMs), writes: writes.acknowledged };
  },
  /** An application that writes 200 times a second, with the client Secret as it is at the time. */
  async startWriter(of: string): Promise<void> {
    const known = cluster(of);
    const [endpoints, credentials] = [() => known.endpoints(), () => known.credentials()];
    writers.set(of, await Writer.start({ endpoints, credentials }));
  },
  /** What became of its writes, after its last one. */
  async writerTold(of: string) {
    const writer = writers.get(of);
    if (!writer) throw new Error(`no application writes to ${of}`);
    writers.delete(of);
    const { acknowledged, failed, longestGapMs } = await writer.stop();
    return {
      acknowledged,
      lost: failed.lost.length,
      dropped: failed.dropped.map(String),
      gapMs: Math.round(longestGapMs),
      missing: await writer.missing(await cluster(of).etcd()),
      unexplained: failed.unexplained.map(String),
    };
  },
  /** What `etcdctl member remove` does, by the member's name. */
  async removeFromEtcd(of: string, member: string): Promise<void> {
    const { cluster: calls } = await cluster(of).etcd();
    const found = (await calls.memberList({ linearizable: true })).members.find((one) => one.name === member);
    if (!found) throw new Error(`${of} has no member ${member}`);
    const isRemoved = async () => {
      try {
        await calls.memberRemove(found.id);
      } catch (error) {
        // All voters must have been connected for five seconds, which new ones are not.
        if (isEtcdError(error, "unhealthy-cluster")) return false;
        // Asked of the member itself, it stops once it is out, and cannot answer any more.
        if (!isEtcdError(error, "server-stopped")) throw error;
      }
      return true;
    };
    await eventually(`${member} is removed`, isRemoved, { withinMs: 30_000, everyMs: 200 });
  },
  /** Who is served on either port of a member and should not be. */
  async servedStrangers(of: string): Promise<string[]> {
    const [pod] = await cluster(of).pods();
    const served: string[] = [];
    for (const [plane, port] of [
      ["client", 2379],
      ["peer", 2380],
    ] as const) {
      const text = await secretFiles(bed, `${of}-${plane}-ca`);
      const ca = { certificate: text("tls.crt"), key: text("tls.key") };
      served.push(...(await servedStrangers(`https://${pod?.status?.podIP}:${port}`, ca)));
    }
    return served;
  },
  /** Writes with the certificate in this Secret, or as a user by password; how that ended. */
  async putAs(of: string, secret: string, key: string, login?: Login): Promise<string> {
    const text = await secretFiles(bed, secret);
    const tls = { ca: text("ca.crt"), cert: text("tls.crt"), key: text("tls.key") };
    const transport = new GrpcTransport({ clock: systemClock, tls });
    const endpoints = await cluster(of).endpoints();
    const credentials = login && { credentials: login };
    const client = new EtcdClient({ transport, clock: systemClock, endpoints, ...credentials });
    try {
      await client.kv.put(key, "yes", { timeoutMs: 10_000 });
      return "written";
    } catch (error) {
      return isEtcdError(error) ? error.kind : String(error);
    } finally {
      await transport.close();
    }
  },
  steps: (from = 0) => Promise.resolve(running?.steps.slice(from) ?? []),
  async end(): Promise<void> {
    for (const checker of checkers.values()) await checker[Symbol.asyncDispose]().catch(() => undefined);
    for (const writer of writers.values()) await writer.stop();
    for (const one of clusters.values()) await one.close();
    await running?.stop();
    bed.client.close();
    setImmediate(() => process.disconnect());
  },
};

export type Methods = typeof methods;

export interface Call {
  readonly id: number;
  readonly method: keyof Methods;
  readonly args: readonly unknown[];
}

export type Reply = { readonly id: number } & ({ readonly value: unknown } | { readonly error: string });

process.on("message", ({ id, method, args }: Call) => {
  const work = methods[method] as (...given: readonly unknown[]) => unknown;
  const reply = (rest: { value: unknown } | { error: string }) =>
    process.send?.({ id, ...rest } satisfies Reply);
  void (async () => await work(...args))().then(
    (value) => reply({ value: value ?? null }),
    (error: unknown) => reply({ error: error instanceof Error ? error.message : String(error) }),
  );
});
