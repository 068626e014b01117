/**
 * The operator on a testbed with the stand-in kubelet, for the tests in test/operator: it runs in the process of
 * the test, and what it calls and does is written down.
 */
import assert from "node:assert/strict";
import type { PersistentVolumeClaim, Pod, Secret } from "kubernetes-types/core/v1.d.ts";
import { customResourceDefinition } from "../../src/api/crd.ts";
import type { EtcdCluster } from "../../src/api/etcd-cluster.ts";
import type { EtcdClusterStatus } from "../../src/api/etcd-cluster-status.ts";
import type { EtcdMember } from "../../src/api/etcd-member.ts";
import type { EtcdOperation, EtcdOperationSpec, EtcdOperationStatus } from "../../src/api/etcd-operation.ts";
import { API_VERSION } from "../../src/api/metadata.ts";
import { resources } from "../../src/api/resources.ts";
import type { OperationPhase } from "../../src/api/status-words.ts";
import { EtcdClient } from "../../src/etcd/client.ts";
import { GrpcTransport } from "../../src/etcd/grpc/transport.ts";
import type { CallReport } from "../../src/kube/client.ts";
import { LABELS } from "../../src/operator/names.ts";
import { Operator, type OperatorOptions } from "../../src/operator/runtime.ts";
import { sleep, systemClock } from "../../src/seams/clock.ts";
import { systemDisk } from "../../src/seams/disk.ts";
import type { Endpoint } from "../../src/seams/etcd-transport.ts";
import { systemRandom } from "../../src/seams/random.ts";
import { isCode, type KubeObject } from "../../testbed/client.ts";
import { eventually } from "../../testbed/eventually.ts";
import { upForTests, type TestTestbed } from "../../testbed/for-tests.ts";
import type { UpOptions } from "../../testbed/testbed.ts";
import { configOf } from "./kube-runtime.ts";
import { PATHS } from "./kube-paths.ts";
import { lastWords } from "./last-words.ts";
import { tell } from "./tell.ts";

/** A loaded machine is slow; what is waited for is precise. */
export const PATIENCE_MS = 120_000;

/** Small enough for many clusters on one machine. */
export const SMALL = {
  version: "3.6.16",
  storage: { size: "1Gi" },
  options: { quotaBackendBytes: "64Mi" },
  pod: { terminationGracePeriodSeconds: 5 },
};

export async function upWithDefinitions(options: UpOptions = {}): Promise<TestTestbed> {
  const bed = await upForTests({
    kubelet: "process",
    backoffMs: { first: 200, max: 2_000 },
    ...options,
  });
  await define(bed);
  return bed;
}

/** Installs the resource definitions. */
export async function define(bed: TestTestbed): Promise<void> {
  const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  for (const resource of resources) await bed.client.create(definitions, customResourceDefinition(resource));
  await eventually("the resources are served", async () => {
    await bed.client.get(PATHS.clusters);
    for (const path of [PATHS.operations, PATHS.snapshots, PATHS.schedules]) await bed.client.get(path);
    return await bed.client.get(PATHS.members);
  });
}

export interface Running {
  /** The present one. */
  readonly operator: Operator;
  /** Every call to the API server, in order. */
  readonly calls: CallReport[];
  /** `UpdateMember/roll demo-2`, in order. */
  readonly steps: string[];
  readonly log: string[];
  /** How it ended. */
  readonly end: Promise<"stopped" | "lost">;
  stop(): Promise<"stopped" | "lost">;
}

type Told = Pick<Running, "calls" | "steps" | "log">;
/** As a kubelet waits before it starts a container again. */
const AFRESH_MS = 500;

/**
 * One that loses its lease ends, and another begins in its place, as a Pod's container does: a machine that is busy for
 * longer than the lease lasts costs time, and not the test.
 */
export function startOperator(bed: TestTestbed, options: Partial<OperatorOptions> = {}): Running {
  const reported: Told = { calls: [], steps: [], log: [] };
  const stopped = new AbortController();
  let life = startOneLife(bed, options, reported);
  const live = async (): Promise<"stopped" | "lost"> => {
    for (;;) {
      // An error is in the log; the next one begins after it as well.
      const end = await life.end.catch(() => "lost" as const);
      if (end === "stopped" || stopped.signal.aborted) return end;
      await sleep(systemClock, AFRESH_MS);
      if (stopped.signal.aborted) return "stopped";
      life = startOneLife(bed, options, reported);
    }
  };
  const end = live();
  return {
    ...reported,
    get operator() {
      return life.operator;
    },
    end,
    async stop() {
      stopped.abort();
      await life.stop();
      return await end;
    },
  };
}

/** When it loses its lease it is gone. */
export function startOneLife(
  bed: TestTestbed,
  { hooks, ...change }: Partial<OperatorOptions> = {},
  { calls, steps, log }: Told = { calls: [], steps: [], log: [] },
): Running {
  const operator = new Operator({
    config: configOf(bed),
    clock: systemClock,
    random: systemRandom,
    disk: systemDisk,
    log: (level, message) => {
      log.push(`${level} ${message}`);
      tell("log of operators", message);
    },
    lease: { namespace: "default", name: "quorate" },
    hooks: {
      onCall: (call) => void calls.push(call),
      onStep: ({ step, member, error }) =>
        void steps.push(
          [step, member, error === undefined ? "" : `failed: ${error}`].filter(Boolean).join(" "),
        ),
      ...hooks,
    },
    ...change,
  });
  const stop = new AbortController();
  const end = operator.run(stop.signal);
  end.catch((error: unknown) => void log.push(`error ${String(error)}`));
  return {
    operator,
    calls,
    steps,
    log,
    end,
    async stop() {
      tell("steps of operators", steps.join("\n"));
      stop.abort();
      return await end;
    },
  };
}

const WRITES = new Set(["create", "apply", "update", "patch", "delete"]);

/** Tells what is so. A mark on the cluster is a patch too, and a step. */
export function isTold({ verb, resource }: CallReport): boolean {
  return resource === "events" || (verb === "patch" && resource.startsWith("etcd"));
}

/** Writes to the API server but for those of the lease. */
export function writes(calls: readonly CallReport[]): CallReport[] {
  return calls.filter(({ verb, resource }) => WRITES.has(verb) && resource !== "leases");
}

/** What a user sees of a cluster, and what is in it. */
export class ClusterOnBed {
  readonly name: string;
  readonly #bed: TestTestbed;
  readonly #running: Pick<Running, "steps" | "log"> | undefined;
  readonly #transports: GrpcTransport[] = [];

  constructor(bed: TestTestbed, name: string, running?: Pick<Running, "steps" | "log">) {
    this.#bed = bed;
    this.name = name;
    this.#running = running;
  }

  async create(spec: object): Promise<void> {
    const metadata = { name: this.name, namespace: "default" };
    const manifest = { apiVersion: API_VERSION, kind: "EtcdCluster", metadata, spec: { ...SMALL, ...spec } };
    await this.#bed.client.create(PATHS.clusters, manifest);
  }

  async edit(spec: object): Promise<void> {
    await this.#bed.client.patch(`${PATHS.clusters}/${this.name}`, { spec });
  }

  /** Asks for a task on this cluster; resolves when it was accepted. */
  async ask(operation: string, spec: Partial<EtcdOperationSpec>): Promise<void> {
    const metadata = { name: operation, namespace: "default" };
    const manifest = { apiVersion: API_VERSION, kind: "EtcdOperation", metadata };
    await this.#bed.client.create(PATHS.operations, { ...manifest, spec: { cluster: this.name, ...spec } });
  }

  operation(name: string): Promise<EtcdOperation> {
    return this.#bed.client.get<EtcdOperation>(`${PATHS.operations}/${name}`);
  }

  /** Resolves when it is in this phase. */
  async operationIs(name: string, phase: OperationPhase): Promise<EtcdOperationStatus> {
    return await this.#until(`operation ${name} is ${phase}`, async () => {
      const { status = {} } = await this.operation(name);
      if (status.phase === phase) return status;
      throw new Error(`${name} is ${status.phase} (${status.reason}): ${status.message}`);
    });
  }

  async delete(): Promise<void> {
    await this.#bed.client.delete(`${PATHS.clusters}/${this.name}`);
  }

  get(): Promise<EtcdCluster> {
    return this.#bed.client.get<EtcdCluster>(`${PATHS.clusters}/${this.name}`);
  }

  async status(): Promise<EtcdClusterStatus> {
    return (await this.get()).status ?? {};
  }

  async condition(type: string): Promise<string> {
    const found = (await this.status()).conditions?.find((one) => one.type === type);
    return found ? `${found.status}/${found.reason}` : "";
  }

  /** What `kubectl wait --for=condition=<type>` waits for. */
  async waitFor(type: string, status = "True"): Promise<void> {
    await this.#until(`${this.name} is ${type}=${status}`, async () => {
      const [found] = (await this.condition(type)).split("/");
      return found === status;
    });
  }

  /** At rest as its newest spec says: `replicas` voters, all healthy. */
  async converged(replicas: number): Promise<EtcdClusterStatus> {
    return await this.#until(`${this.name} has ${replicas} voters and is at rest`, async () => {
      const { metadata, status = {} } = await this.get();
      const ready = status.conditions?.find((one) => one.type === "Ready");
      const rests =
        status.observedGeneration === metadata.generation &&
        ready?.status === "True" &&
        ready.observedGeneration === metadata.generation;
      // A status from before the last step may say so too, for a moment; it is about other members then, or about one
      // that is on its way out.
      const reported = status.members?.filter(({ healthy }) => healthy).map(({ name }) => name) ?? [];
      const members = await this.members();
      const isNew =
        reported.toSorted().join() ===
          members
            .map(({ metadata: { name } }) => name)
            .toSorted()
            .join() &&
        !members.some(({ metadata, spec }) => metadata.deletionTimestamp !== undefined || spec.leaving);
      if (rests && isNew && status.replicas === replicas && status.readyReplicas === replicas) return status;
      throw new Error(`${status.message}`);
    });
  }

  async #until<T>(
    what: string,
    look: () => Promise<T>,
  ): Promise<Exclude<T, false | "" | 0 | null | undefined>> {
    try {
      return await eventually(what, look, { withinMs: PATIENCE_MS });
    } catch (error) {
      const now = await this.status().catch(() => undefined);
      const status = JSON.stringify(now, undefined, 1);
      const ill = now?.members?.filter(({ healthy }) => !healthy).map(({ name }) => name) ?? [];
      const pods = (await this.pods().catch(() => [])).map(({ metadata, status: seen }) => {
        const states = seen?.containerStatuses?.map(({ state }) => JSON.stringify(state)) ?? [];
        return `${metadata?.name}: ${seen?.phase} ${states.join(" ")}`;
      });
      const logs = [...pods, ...ill.map((name) => lastWords(this.#bed.name, name))].join("\n");
      const { steps = [], log = [] } = this.#running ?? {};
      throw new Error(
        `${(error as Error).message}\nlast steps: ${steps.slice(-15).join("; ")}\nlog: ${log.slice(-8).join("\n")}\n${logs}\nstatus: ${status}`,
        { cause: error },
      );
    }
  }

  async pods(): Promise<Pod[]> {
    return await this.#list<Pod>(PATHS.pods);
  }
  async members(): Promise<EtcdMember[]> {
    return await this.#list<EtcdMember>(PATHS.members);
  }
  async claims(): Promise<PersistentVolumeClaim[]> {
    return await this.#list<PersistentVolumeClaim>(PATHS.claims);
  }
  async list(path: string): Promise<string[]> {
    return (await this.#list<KubeObject>(path)).map(({ metadata }) => metadata?.name ?? "");
  }

  async #list<T>(path: string): Promise<T[]> {
    const selector = `?labelSelector=${encodeURIComponent(`${LABELS.cluster}=${this.name}`)}`;
    return (await this.#bed.client.get<{ items: T[] }>(path + selector)).items;
  }

  async deletePod(name: string): Promise<void> {
    await this.#bed.client.delete(`${PATHS.pods}/${name}`);
  }

  /** Resolves when no object is found at the path. */
  async gone(path: string): Promise<void> {
    await this.#until(`${path} is gone`, async () => {
      try {
        await this.#bed.client.get(path);
        return false;
      } catch (error) {
        return isCode(error, 404);
      }
    });
  }

  /** What a user reads from the client Secret; undefined without TLS. */
  async credentials(): Promise<{ ca: string; cert: string; key: string } | undefined> {
    const name = (await this.status()).clientSecret;
    if (name === undefined) return undefined;
    const secret = await this.#bed.client.get<Secret>(`${PATHS.secrets}/${name}`);
    const text = (file: string) => Buffer.from(secret.data?.[file] ?? "", "base64").toString();
    return { ca: text("ca.crt"), cert: text("tls.crt"), key: text("tls.key") };
  }

  /** A client as a user makes it: with the client Secret, to the members' Pods. */
  async etcd(): Promise<EtcdClient> {
    const tls = await this.credentials();
    const transport = new GrpcTransport({ clock: systemClock, ...(tls && { tls }) });
    this.#transports.push(transport);
    return new EtcdClient({ transport, clock: systemClock, endpoints: await this.endpoints() });
  }

  async endpoints(): Promise<Endpoint[]> {
    const status = await this.status();
    const secure = status.clientSecret !== undefined;
    const learners = new Set(status.members?.filter(({ role }) => role === "Learner").map((one) => one.name));
    return (await this.pods()).flatMap(({ metadata, status: now }) => {
      if (!now?.podIP || !metadata?.name) return [];
      const host = status.endpoints
        ?.map((url) => new URL(url).hostname)
        .find((one) => one.startsWith(`${metadata.name}.`));
      return [
        {
          name: metadata.name,
          url: `${secure ? "https" : "http"}://${now.podIP}:2379`,
          ...(host && { serverName: host }),
          learner: learners.has(metadata.name),
        },
      ];
    });
  }

  /** n voters, no learner, one leader, one cluster ID, equal hashes. */
  async assertSound(voters: number): Promise<void> {
    const client = await this.etcd();
    // One that came back a moment ago, or an election, may cost an answer; what is answered is judged as it is.
    const { members } = await eventually("somebody lists the members", async () => {
      client.setEndpoints(await this.endpoints());
      return await client.cluster.memberList({ linearizable: true, timeoutMs: 5_000 });
    });
    assert.equal(members.filter(({ isLearner }) => !isLearner).length, voters, "voters");
    assert.equal(members.filter(({ isLearner }) => isLearner).length, 0, "learners");
    await eventually("all copies are equal", async () => {
      // A Pod that was made just now has no address yet, and one of a lost node goes when the node is back.
      const endpoints = await this.endpoints();
      assert.equal(endpoints.length, voters, "Pods");
      const states = await Promise.all(
        endpoints.map((endpoint) => client.maintenance.status(endpoint, { timeoutMs: 5_000 })),
      );
      const revision =
        states.map(({ header }) => header.revision).toSorted((a, b) => (a < b ? -1 : 1))[0] ?? 0n;
      const hashes = await Promise.all(
        endpoints.map((endpoint) => client.maintenance.hashKv(endpoint, revision, { timeoutMs: 5_000 })),
      );
      assert.equal(new Set(hashes.map(({ hash }) => hash)).size, 1, "one hash");
      assert.equal(new Set(states.map(({ leader }) => leader)).size, 1, "one leader");
      assert.equal(new Set(states.map(({ header }) => header.clusterId)).size, 1, "one cluster ID");
      return true;
    });
  }

  async close(): Promise<void> {
    for (const transport of this.#transports.splice(0)) await transport.close();
  }
}
