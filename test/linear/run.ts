/**
 * A cluster on the local platform with proxies between its members, clients that are recorded, and the
 * verdict at the end. What happens to the cluster meanwhile is up to the one who runs it.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import type { EtcdClusterSpec, EtcdClusterSpecInput } from "../../src/api/etcd-cluster-spec.ts";
import { slotOf } from "../../src/local/addresses.ts";
import type { Pki } from "../../src/seams/pki.ts";
import type { Endpoint } from "../../src/seams/etcd-transport.ts";
import { LocalCluster } from "../support/local-cluster.ts";
import { check, searchOnly, type Verdict } from "./check.ts";
import { Faults } from "./faults.ts";
import type { History, Operation, Violation } from "./history.ts";
import { Network } from "./network.ts";
import { Recorder } from "./recorder.ts";
import type { Found } from "./search.ts";
import { timeline } from "./timeline.ts";

/** Within a cluster's block of ports, beyond the slots that are given out first. */
const LISTEN_OFFSET = 70;
const LOOK_MS = 100;
/** Members tell of their progress this often, so that it is seen at the end. */
const PROGRESS = "500ms";
const PROGRESS_MS = 3_000;

export interface RunOptions {
  readonly seed: number;
  readonly clients?: number;
  readonly everyMs?: number;
  /** After which a client gives up: less than etcd itself takes, unless said otherwise. */
  readonly timeoutMs?: number;
  readonly pki?: Pki;
  /** What is stored instead of the spec that was checked. */
  readonly unchecked?: (spec: EtcdClusterSpec) => EtcdClusterSpec;
  /** Where a picture of violations is written. */
  readonly pictures?: string;
}

export interface RunReport {
  readonly history: History;
  readonly verdict: Verdict;
  readonly violations: readonly Violation[];
  readonly operations: number;
  readonly answered: number;
  readonly refused: number;
  readonly unknown: number;
  readonly durationMs: number;
  readonly perSecond: number;
  readonly answeredPerSecond: number;
  readonly kinds: Readonly<Record<string, number>>;
  readonly interruptions: number;
  readonly progress: number;
  /** What the search alone says of each key, and how long it took. */
  readonly secondOpinion: { readonly keys: ReadonlyMap<string, Found["kind"]>; readonly tookMs: number };
  readonly proxied: { readonly accepted: number; readonly identified: number };
  /** Written when there are violations. */
  readonly picture?: string;
}

export class LinearRun implements AsyncDisposable {
  readonly local: LocalCluster;
  readonly network: Network;
  readonly recorder: Recorder;
  readonly faults: Faults;
  readonly notes: { at: number; text: string }[] = [];
  readonly #options: RunOptions;
  readonly #timer: NodeJS.Timeout;
  #looking: Promise<void> = Promise.resolve();
  #busy = false;

  private constructor(local: LocalCluster, network: Network, recorder: Recorder, options: RunOptions) {
    this.local = local;
    this.network = network;
    this.recorder = recorder;
    this.#options = options;
    this.faults = new Faults(local, network, (text) => this.note(text));
    this.#timer = setInterval(() => this.#look(), LOOK_MS);
  }

  static async start(spec: EtcdClusterSpecInput, options: RunOptions): Promise<LinearRun> {
    let local: LocalCluster | undefined;
    const network = new Network(() =>
      (local?.children ?? []).map(({ member, pid }) => ({ name: member, pid })).toReversed(),
    );
    const onSpawn = async (member: string) => {
      const records = (await local?.records()) ?? [];
      await network.keep(new Set(records.map(({ name }) => name)));
      const address = records.find(({ name }) => name === member)?.address;
      if (address) await network.open(member, portOf(address.peerURL), portOf(address.listenPeerURL));
    };
    const between: NonNullable<Parameters<typeof LocalCluster.create>[1]>["between"] = (
      address,
      basePort,
    ) => {
      const slot = slotOf(basePort, address.peerURL) ?? 0;
      const listen = new URL(address.peerURL);
      listen.port = String(basePort + LISTEN_OFFSET + slot);
      return { ...address, listenPeerURL: listen.origin };
    };
    try {
      const extraArgs = { ...spec.options?.extraArgs, "watch-progress-notify-interval": PROGRESS };
      local = await LocalCluster.create(
        { ...spec, options: { ...spec.options, extraArgs } },
        {
          between,
          onSpawn,
          ...(options.pki && { pki: options.pki }),
          ...(options.unchecked && { unchecked: options.unchecked }),
        },
      );
      local.run();
      await local.settled();
      const recorder = await recorderOf(local, options);
      return new LinearRun(local, network, recorder, options);
    } catch (error) {
      await local?.[Symbol.asyncDispose]();
      await network[Symbol.asyncDispose]();
      throw error;
    }
  }

  note(text: string): void {
    this.notes.push({ at: performance.now(), text });
  }

  /** An application learns of members and of its renewed certificate; only those that serve are of use. */
  #look(): void {
    if (this.#busy) return;
    this.#busy = true;
    this.#looking = (async () => {
      const endpoints = await endpointsOf(this.local);
      if (endpoints.length > 0) this.recorder.setEndpoints(endpoints);
      const credentials = await this.local.controller.platform.certificates.controllerCredentials();
      if (credentials) this.recorder.setCredentials(credentials);
    })()
      .catch(() => undefined) // No controller is open just now.
      .finally(() => (this.#busy = false));
  }

  async finish(title: string): Promise<RunReport> {
    const { history, violations: seen, durationMs } = await this.recorder.stop(PROGRESS_MS);
    const verdict = check(history);
    const violations = [...seen, ...verdict.violations];
    const count = (kind: Operation["outcome"]["kind"]) =>
      history.operations.filter(({ outcome }) => outcome.kind === kind).length;
    const kinds: Record<string, number> = {};
    for (const { request } of history.operations) kinds[request.kind] = (kinds[request.kind] ?? 0) + 1;
    const items = history.watches.flatMap((watch) => watch.items);
    const seconds = durationMs / 1_000;
    const searching = performance.now();
    const opinions = [...searchOnly(history)].map(([key, { kind }]) => [key, kind] as const);
    const secondOpinion = { keys: new Map(opinions), tookMs: performance.now() - searching };
    const answered = count("answered");
    const operations = history.operations.length;
    const report = {
      history,
      verdict,
      violations,
      operations,
      answered,
      refused: count("refused"),
      unknown: count("unknown"),
      durationMs,
      perSecond: operations / seconds,
      answeredPerSecond: answered / seconds,
      kinds,
      interruptions: items.filter(({ type }) => type === "interrupted").length,
      progress: items.filter(({ type }) => type === "progress").length,
      secondOpinion,
      proxied: { accepted: this.network.accepted, identified: this.network.identified },
    };
    if (violations.length === 0) return report;
    const directory = this.#options.pictures ?? path.join(os.tmpdir(), "quorate-timelines");
    mkdirSync(directory, { recursive: true });
    const picture = path.join(directory, `linearizability-${this.#options.seed}.html`);
    writeFileSync(picture, timeline(history, violations, { title, notes: this.notes }));
    return { ...report, picture };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    await this.#looking;
    await this.recorder[Symbol.asyncDispose]();
    await this.local[Symbol.asyncDispose]();
    await this.network[Symbol.asyncDispose]();
  }
}

async function recorderOf(local: LocalCluster, options: RunOptions): Promise<Recorder> {
  const credentials = await local.controller.platform.certificates.controllerCredentials();
  return await Recorder.start({
    seed: options.seed,
    endpoints: await endpointsOf(local),
    lifeOf: (member) => String(local.startsOf(member)),
    ...(credentials && { credentials }),
    ...(options.clients !== undefined && { clients: options.clients }),
    ...(options.everyMs !== undefined && { everyMs: options.everyMs }),
    ...(options.timeoutMs !== undefined && { timeoutMs: options.timeoutMs }),
  });
}

async function endpointsOf(local: LocalCluster): Promise<Endpoint[]> {
  return (await local.records())
    .filter((record) => record.joined && !record.leaving)
    .map((record) => local.controller.platform.endpoint(record));
}

function portOf(url: string): number {
  return Number(new URL(url).port);
}

/** For people: what was recorded, how fast, and what came of it. */
export function describeReport(report: RunReport): string {
  const { verdict, kinds } = report;
  const round = Math.round;
  return [
    `${report.operations} operations in ${(report.durationMs / 1000).toFixed(1)} s: ${round(report.perSecond)} per second, ${round(report.answeredPerSecond)} answered per second`,
    `${report.answered} answered, ${report.refused} refused, ${report.unknown} unknown (${verdict.unknown.happened} of the writes among them happened); ${Object.entries(
      kinds,
    )
      .map(([kind, n]) => `${n} ${kind}`)
      .join(", ")}`,
    `${verdict.commits} revisions, ${verdict.events} events watched over ${report.interruptions} interruptions, ${report.progress} progress notifications`,
    `${verdict.kind}: ${report.violations.length} violations, checked in ${round(verdict.tookMs)} ms${verdict.searched.length > 0 ? `, ${verdict.searched.join(", ")} by search` : ""}${report.picture === undefined ? "" : `; see ${report.picture}`}`,
    `by search alone, in ${round(report.secondOpinion.tookMs)} ms: ${[...report.secondOpinion.keys].map(([key, kind]) => `${key} ${kind === "order" ? "linearizable" : kind === "none" ? "NOT LINEARIZABLE" : kind}`).join(", ")}`,
    ...verdict.undecided.map((one) => `undecided: ${one}`),
    ...report.violations.slice(0, 10).map(({ rule, message }) => `${rule}: ${message}`),
  ].join("\n");
}
