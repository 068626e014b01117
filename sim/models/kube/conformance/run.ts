/**
 * Conformance: random sequences of calls, each made to the model and to a real API server, answers compared. Rounds
 * begin on an empty ground; watches run through a round and are compared at its end.
 */
import type { KubeRequest, KubeResponse, KubeTransport } from "../../../../src/seams/kube-transport.ts";
import { SeededRandom, SteadyRandom } from "../../../engine/random.ts";
import { json, items, type Json } from "../object.ts";
import { ModelServer } from "../server.ts";
import { isObject, nextCall, type Requests } from "./calls.ts";
import { differences } from "./compare.ts";
import { Pairs } from "./pairs.ts";
import { payloads } from "./payloads.ts";
import { nextList, SELECTED, type Pages } from "./reads.ts";
import { metaOf, pathOf, Slots, type Both, type Slot } from "./slots.ts";
import { PairedWatch } from "./watches.ts";

export const NAMESPACES = ["conf-a", "conf-b"];

export interface RunOptions {
  readonly real: KubeTransport;
  readonly seed: number;
  readonly calls: number;
  readonly callsPerRound?: number;
  /** As the real server was started with. */
  readonly tolerationSeconds: number;
  readonly now: () => number;
  readonly deadline: (ms: number) => AbortSignal;
  readonly onDifference: (text: string) => void;
  readonly onRound?: (calls: number) => void;
}

export interface Report {
  readonly calls: number;
  readonly watches: number;
  readonly refused: number;
  readonly disagreements: number;
}

/** A random list now and then, and a watch. */
const LISTS = 0.12;
const WATCHES = 0.04;
const MOST_WATCHES = 4;
const PATIENCE_MS = 60_000;

export async function conform(options: RunOptions): Promise<Report> {
  const run = new Run(options);
  const { calls, callsPerRound = 150 } = options;
  await run.clear();
  while (run.report.calls < calls) {
    await run.round(Math.min(callsPerRound, calls - run.report.calls));
    await run.clear();
    options.onRound?.(run.report.calls);
  }
  return run.report;
}

class Run {
  readonly #options: RunOptions;
  readonly #random: SeededRandom;
  readonly #model: ModelServer;
  readonly #slots = new Slots(payloads, NAMESPACES);
  #pairs = new Pairs();
  #pages: Pages[] = [];
  #watches: PairedWatch[] = [];
  #sentinels = 0;
  readonly report = { calls: 0, watches: 0, refused: 0, disagreements: 0 };

  constructor(options: RunOptions) {
    this.#options = options;
    this.#random = new SeededRandom(options.seed);
    const { now, tolerationSeconds } = options;
    const namespaces = ["default", ...NAMESPACES];
    this.#model = new ModelServer({
      random: this.#random.fork(),
      now,
      whole: true,
      tolerationSeconds,
      namespaces,
    });
  }

  async round(calls: number): Promise<void> {
    for (let i = 0; i < calls; i++) {
      this.report.calls++;
      const what = this.#random.fraction();
      if (what < WATCHES && this.#watches.length < MOST_WATCHES) await this.#openWatch();
      else if (what < WATCHES + LISTS) await this.#list();
      else await this.#call();
    }
    await this.#endWatches();
  }

  #differs(text: string): void {
    this.report.disagreements++;
    this.#options.onDifference(text);
  }

  async #send(requests: Requests): Promise<Both<KubeResponse>> {
    const real = await this.#real(requests.real);
    const model = this.#model.handle(requests.model);
    if (real.status >= 400) this.report.refused++;
    const found =
      real.status === model.status
        ? differences(this.#pairs, real.body, model.body)
        : [`${real.status} ${brief(real.body)}, in the model ${model.status} ${brief(model.body)}`];
    if (found.length > 0)
      this.#differs(`call ${this.report.calls}: ${describe(requests.real)}\n    ${found.join("\n    ")}`);
    return { real, model };
  }

  async #real(request: KubeRequest): Promise<KubeResponse> {
    return await this.#options.real.request(request, { signal: this.#options.deadline(PATIENCE_MS) });
  }

  async #call(): Promise<void> {
    const { slot, requests } = nextCall(this.#random, this.#slots, this.#model);
    const { real, model } = await this.#send(requests);
    const isScale = requests.real.path.endsWith("/scale");
    const name = metaOf(json(real.body))["name"];
    if (real.status < 300 && isObject(real.body) && isObject(model.body) && !isScale && name === slot.name)
      slot.seen.push({ real: real.body as Json, model: model.body as Json });
  }

  async #list(): Promise<void> {
    const versions = this.#pairs.of("version");
    const { path, query, requests } = nextList(this.#random, this.#slots, versions, this.#pages);
    const { real, model } = await this.#send(requests);
    const [r, m] = [metaOf(json(real.body))["continue"], metaOf(json(model.body))["continue"]];
    // A server may say that there is more when nothing more is selected.
    const selected = query["labelSelector"] ?? query["fieldSelector"];
    if (!r !== !m && !(r && selected)) this.#differs(`${describe(requests.real)}: only one has more pages`);
    if (r && m) this.#pages.push({ path, query, token: { real: String(r), model: String(m) } });
  }

  async #openWatch(): Promise<void> {
    this.report.watches++;
    const opened = await PairedWatch.open(
      {
        random: this.#random,
        slots: this.#slots,
        real: this.#options.real,
        model: this.#model,
        versions: this.#pairs.of("version"),
      },
      (text) => this.#differs(text),
    );
    if (opened) this.#watches.push(opened);
  }

  /** An object that every watch of the place sees last. */
  async #sentinel({ payload, namespace = NAMESPACES[0] }: Slot): Promise<string> {
    const number = ++this.#sentinels;
    const name = payload.kind.plural === "etcdmembers" ? `demo-9${number}` : `zz-${number}`;
    const slot = { payload, name, seen: [], namespace: payload.kind.namespaced ? namespace : undefined };
    const body = {
      apiVersion: payload.kind.apiVersion,
      kind: payload.kind.kind,
      metadata: { name, labels: SELECTED },
      ...payload.whole(new SteadyRandom(), name),
    };
    const request: KubeRequest = {
      method: "POST",
      path: pathOf(slot),
      query: { fieldManager: "last" },
      body,
    };
    const { real } = await this.#send({ real: request, model: request });
    if (real.status !== 201)
      throw new Error(`no sentinel: ${JSON.stringify(real.body)} ${JSON.stringify(body)}`);
    return name;
  }

  async #endWatches(): Promise<void> {
    for (const watch of this.#watches.splice(0)) {
      const last = watch.byName ? undefined : await this.#sentinel(watch.slot);
      const signal = this.#options.deadline(PATIENCE_MS);
      for (const text of await watch.finish(this.#pairs, last, signal)) this.#differs(text);
    }
  }

  /** Takes everything away on both sides, each by its own names. */
  async clear(): Promise<void> {
    this.#slots.clear();
    this.#pages = [];
    this.#pairs = new Pairs();
    for (const { kind, names } of payloads) {
      const places = kind.namespaced ? NAMESPACES : [undefined];
      for (const namespace of places) {
        const path = pathOf({ payload: { kind } as Slot["payload"], namespace, name: "", seen: [] });
        const isOurs = (name: string) => kind.namespaced || names.includes(name) || /^(zz|made)-/.test(name);
        for (const send of [
          (request: KubeRequest) => this.#real(request),
          (request: KubeRequest) => Promise.resolve(this.#model.handle(request)),
        ])
          await clearAway(send, path, isOurs);
      }
    }
  }
}

async function clearAway(
  send: (request: KubeRequest) => Promise<KubeResponse>,
  path: string,
  isOurs: (name: string) => boolean,
): Promise<void> {
  const { body } = await send({ method: "GET", path });
  for (const item of items(json(body)["items"])) {
    const name = String(metaOf(item)["name"]);
    if (!isOurs(name)) continue;
    const options = { gracePeriodSeconds: 0, propagationPolicy: "Background" };
    await send({ method: "DELETE", path: `${path}/${name}`, body: options });
    const contentType = "application/merge-patch+json";
    const free = { metadata: { finalizers: null } };
    await send({ method: "PATCH", path: `${path}/${name}`, body: free, contentType });
  }
}

function brief(body: unknown): string {
  const { reason, message, kind, details } = json(body);
  const causes = items(json(details)["causes"]).map(
    ({ field, reason: why }) => `${String(field)} ${String(why)}`,
  );
  return [reason ?? kind, message, ...causes].map(String).join(" | ");
}

function describe({ method, path, query, body }: KubeRequest): string {
  return `${method} ${path} ${JSON.stringify(query ?? {})} ${JSON.stringify(body ?? {})}`;
}
