/**
 * What the operator tells Prometheus, gathered from hooks: each pass of each cluster, each step, each call to the
 * API server, and the queue, the caches and the lease at the moment of asking.
 */
import type { Pass } from "../../control/loop.ts";
import type { TranscriptEntry } from "../../control/transcript.ts";
import type { HoldReason } from "../../core/action.ts";
import type { CallReport } from "../../kube/client.ts";
import type { Outcome, WorkQueue } from "../../kube/queue.ts";
import type { Clock } from "../../seams/clock.ts";
import { ClusterSeries } from "./metrics-cluster.ts";
import { Registry, type MetricDefinition, type Sample } from "./metrics-registry.ts";
import { METRICS } from "./metrics-table.ts";

/** What the process itself costs, at the moment of asking. */
export interface ProcessFacts {
  readonly cpuSeconds: number;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly residentBytes: number;
  readonly heapTotalBytes: number;
  readonly heapUsedBytes: number;
  readonly externalBytes: number;
  readonly nodeVersion: string;
}

export interface MetricsOptions {
  readonly clock: Clock;
  readonly version: string;
  readonly process?: () => ProcessFacts;
}

/** What is looked at when the metrics are asked for. */
export interface Sources {
  readonly queue?: Pick<WorkQueue, "depth" | "running" | "longestRunMs" | "longestWaitMs">;
  readonly lagMs?: () => number;
  /** Whether this process leads. */
  readonly leads?: () => boolean;
  /** How far our clock is ahead of the API server's. */
  readonly clockAheadMs?: () => number | undefined;
  /** The nodes whose clocks are off, and by how much. */
  readonly nodeClocksOff?: () => Iterable<readonly [node: string, aheadMs: number]>;
  /** Clusters that another installation looks after. */
  readonly clustersElsewhere?: () => number;
  /** Each cache, by the plural of its resource: whether it is in step. */
  readonly stores?: () => Iterable<readonly [resource: string, inStep: boolean]>;
}

const CHANGES: Readonly<Partial<Record<TranscriptEntry["kind"], string>>> = {
  AddLearner: "add",
  Promote: "promote",
  RemoveFromEtcd: "remove",
};

export class OperatorMetrics {
  readonly #options: MetricsOptions;
  readonly #registry = new Registry(Object.values(METRICS));
  readonly #clusters = new Map<string, ClusterSeries>();
  #sources: Sources = {};
  /** Of the registry's count, what was reported before. */
  #reportedDropped = 0;

  constructor(options: MetricsOptions) {
    this.#options = options;
    this.#registry.collect(() => this.#operator());
    this.#registry.collect(() => this.#processSamples());
    this.#registry.collect(() => this.#clusterSamples());
    // So that a rate over them begins with the first change and not with the second.
    for (const kind of Object.values(CHANGES)) this.#registry.add(METRICS.membershipChanges, [kind], 0);
    this.#registry.add(METRICS.droppedSeries, [], 0);
  }

  watch(sources: Sources): void {
    this.#sources = { ...this.#sources, ...sources };
  }

  /** For `KubeClient`. */
  onCall = ({ verb, resource, status, ms }: CallReport): void => {
    this.#registry.add(METRICS.apiCalls, [verb, resource, status === undefined ? "none" : String(status)]);
    this.#registry.observe(METRICS.apiLatency, ms / 1000, [verb]);
  };

  /** For `Loop`. */
  onPass = (pass: Pass): void => {
    const { name, namespace } = pass.observation.cluster;
    const key = `${namespace}/${name}`;
    let series = this.#clusters.get(key);
    if (series === undefined) this.#clusters.set(key, (series = new ClusterSeries(namespace, name)));
    const { decision } = pass;
    const result = decision.act ? "acted" : decision.converged ? "converged" : "waiting";
    this.#registry.add(METRICS.passes, [result]);
    if (decision.act) this.#registry.add(METRICS.decisions, [decision.act.rule, decision.act.action.kind]);
    const { failed, begun } = series.passed(pass);
    if (failed !== undefined) this.#registry.add(METRICS.steps, [failed, "failed"]);
    for (const reason of begun) this.#registry.add(METRICS.waits, [reason]);
  };

  /** For the transcript of each `Loop`; failures are counted with the passes, since not all are written down. */
  onStep = ({ kind, error }: Pick<TranscriptEntry, "kind" | "error">): void => {
    if (error !== undefined) return;
    this.#registry.add(METRICS.steps, [kind, "done"]);
    const change = CHANGES[kind];
    if (change !== undefined) this.#registry.add(METRICS.membershipChanges, [change]);
  };

  /** A reconcile that is timed. */
  timed<Rest extends unknown[]>(
    reconcile: (...args: Rest) => Promise<Outcome>,
  ): (...args: Rest) => Promise<Outcome> {
    const { clock } = this.#options;
    return async (...args) => {
      const began = clock.monotonic();
      let result = "error";
      try {
        const outcome = await reconcile(...args);
        result = "ok";
        return outcome;
      } finally {
        this.#registry.observe(METRICS.reconcile, (clock.monotonic() - began) / 1000, [result]);
      }
    };
  }

  /** The cluster `namespace/name` is no more. */
  forget(key: string): void {
    this.#clusters.delete(key);
  }

  text(): string {
    const { dropped } = this.#registry;
    this.#registry.add(METRICS.droppedSeries, [], dropped - this.#reportedDropped);
    this.#reportedDropped = dropped;
    return this.#registry.text();
  }

  *#operator(): Generator<readonly [MetricDefinition, Iterable<Sample>]> {
    const { queue, lagMs, leads, stores, clockAheadMs, nodeClocksOff, clustersElsewhere } = this.#sources;
    const { version } = this.#options;
    yield one(METRICS.build, 1, [version]);
    if (queue) {
      yield one(METRICS.queueDepth, queue.depth);
      yield one(METRICS.queueRunning, queue.running);
      yield one(METRICS.queueOldest, queue.longestWaitMs / 1000);
      yield one(METRICS.longestRun, queue.longestRunMs / 1000);
    }
    if (lagMs) yield one(METRICS.eventLoopLag, lagMs() / 1000);
    if (leads) yield one(METRICS.leaseHeld, leads() ? 1 : 0);
    if (clustersElsewhere) yield one(METRICS.managedElsewhere, clustersElsewhere());
    const aheadMs = clockAheadMs?.();
    if (aheadMs !== undefined) yield one(METRICS.clockSkew, aheadMs / 1000);
    for (const [node, off] of nodeClocksOff?.() ?? [])
      yield one(METRICS.nodeClockSkew, Math.round(off / 1000), [node]);
    for (const [resource, inStep] of stores?.() ?? [])
      yield one(METRICS.storesInStep, inStep ? 1 : 0, [resource]);
  }

  *#processSamples(): Generator<readonly [MetricDefinition, Iterable<Sample>]> {
    const facts = this.#options.process?.();
    if (!facts) return;
    yield one(METRICS.cpu, facts.cpuSeconds);
    yield one(METRICS.memory, facts.residentBytes);
    yield one(METRICS.startTime, facts.startedAt / 1000);
    yield one(METRICS.heapTotal, facts.heapTotalBytes);
    yield one(METRICS.heapUsed, facts.heapUsedBytes);
    yield one(METRICS.external, facts.externalBytes);
    yield one(METRICS.nodeVersion, 1, [facts.nodeVersion]);
  }

  *#clusterSamples(): Generator<readonly [MetricDefinition, Iterable<Sample>]> {
    const now = this.#options.clock.now();
    const waiting = new Map<HoldReason, number>();
    let problems = 0;
    for (const series of this.#clusters.values()) {
      yield* series.samples(now);
      for (const reason of series.waits) waiting.set(reason, (waiting.get(reason) ?? 0) + 1);
      if (series.hasProblems) problems++;
    }
    yield one(METRICS.clusters, this.#clusters.size);
    yield one(METRICS.problems, problems);
    yield [METRICS.waiting, [...waiting].map(([reason, value]) => ({ labels: [reason], value }))];
  }
}

function one(metric: MetricDefinition, value: number, labels: readonly string[] = []) {
  return [metric, [{ labels, value }]] as const;
}

/** `UpdateMember/roll` → `UpdateMember`. */
