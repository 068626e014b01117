/** The same watch on both sides: opened at the same moment, read to the same last event, compared event by event. */
import { KubeFailure, type KubeTransport } from "../../../../src/seams/kube-transport.ts";
import type { SeededRandom } from "../../../engine/random.ts";
import { json, type Json } from "../object.ts";
import { Refusal } from "../refusal.ts";
import type { ModelServer } from "../server.ts";
import { Watch } from "../watch.ts";
import { differences } from "./compare.ts";
import type { Pair, Pairs } from "./pairs.ts";
import { inAllNamespaces, LABELS } from "./reads.ts";
import { metaOf, pathOf, type Slot, type Slots } from "./slots.ts";

interface Event {
  readonly type: string;
  readonly object: Json;
}

const INITIAL_END = "k8s.io/initial-events-end";

/** Something that can be waited for. */
class Arrivals {
  readonly events: Event[] = [];
  ended: string | undefined;
  #wake: () => void = () => undefined;

  changed(): void {
    this.#wake();
  }

  async until(holds: () => boolean, signal: AbortSignal): Promise<boolean> {
    while (!holds() && this.ended === undefined && !signal.aborted)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        signal.addEventListener("abort", () => resolve(), { once: true });
      });
    return holds();
  }
}

export class PairedWatch {
  readonly slot: Slot;
  readonly text: string;
  readonly byName: boolean;
  readonly #model: Event[] = [];
  readonly #real = new Arrivals();
  readonly #ending = new AbortController();
  #watch: Watch | undefined;
  #reading: Promise<void> = Promise.resolve();

  constructor(slot: Slot, text: string, byName: boolean) {
    this.slot = slot;
    this.text = text;
    this.byName = byName;
  }

  /** Undefined when both refuse it. */
  static async open(
    around: {
      random: SeededRandom;
      slots: Slots;
      real: KubeTransport;
      model: ModelServer;
      versions: readonly Pair[];
    },
    onDifference: (text: string) => void,
  ): Promise<PairedWatch | undefined> {
    const { random, slots, versions } = around;
    const picked = slots.pickOwn(random);
    const slot = random.chance(0.3) ? inAllNamespaces(picked) : picked;
    const path = pathOf(slot);
    const how = random.fraction();
    const version = how < 0.5 && versions.length > 0 ? random.pick(versions.slice(-30)) : undefined;
    const byName = random.chance(0.15);
    const query = {
      watch: "true",
      ...(random.chance(0.3) && { labelSelector: random.pick(LABELS) }),
      ...(byName && { fieldSelector: `metadata.name=${slot.name}` }),
      ...(random.chance(0.7) && { allowWatchBookmarks: "true" }),
      ...(how > 0.8 && { sendInitialEvents: "true" }),
      ...(how > 0.8 && how < 0.98 && { resourceVersionMatch: "NotOlderThan" }),
    };
    const text = `WATCH ${path} ${JSON.stringify({ ...query, ...version })}`;
    const watch = new PairedWatch(slot, text, byName);
    const forSide = (side: keyof Pair) => ({ ...query, ...(version && { resourceVersion: version[side] }) });
    const refused = watch.#openModel(around.model, forSide("model"));
    const answer = await around.real.stream(
      { method: "GET", path, query: forSide("real") },
      { signal: watch.#ending.signal },
    );
    if (!answer.ok || refused !== undefined) {
      const [r, m] = [answer.ok ? 200 : answer.response.status, refused ?? 200];
      if (r !== m) onDifference(`${text}: ${r}, in the model ${m}`);
      watch.#ending.abort(new Error("not wanted"));
      return undefined;
    }
    watch.#reading = watch.#read(answer.objects);
    return watch;
  }

  #openModel(model: ModelServer, query: Readonly<Record<string, string>>): number | undefined {
    const { payload, namespace } = this.slot;
    const { storage } = model;
    try {
      this.#watch = new Watch({
        storage,
        kind: payload.kind,
        namespace,
        query,
        visible: storage.version,
        since: storage.compacted,
        whole: true,
        onEvent: (event) => this.#model.push(event),
      });
      storage.onChange(() => this.#watch?.pull(storage.version));
      return undefined;
    } catch (error) {
      if (error instanceof Refusal) return error.response.status;
      throw error;
    }
  }

  async #read(objects: AsyncIterable<unknown>): Promise<void> {
    try {
      for await (const event of objects) {
        this.#real.events.push(event as Event);
        this.#real.changed();
      }
      this.#real.ended = "cleanly";
    } catch (error) {
      this.#real.ended = error instanceof KubeFailure ? error.message : String(error);
    }
    this.#real.changed();
  }

  /** Waits for the last event (of the object named, or as many as the model has), then compares all. */
  async finish(pairs: Pairs, last: string | undefined, patience: AbortSignal): Promise<string[]> {
    const reported = () => this.#real.events.filter((event) => isTold(event));
    const model = this.#model.filter((event) => isTold(event));
    const arrived =
      last === undefined
        ? () => reported().length >= model.length
        : () => this.#real.events.some(({ object }) => metaOf(object)["name"] === last);
    const complete = await this.#real.until(arrived, patience);
    this.#ending.abort(new Error("enough"));
    await this.#reading;
    const real = reported();
    if (!complete)
      return [
        `${this.text}: ${real.length} events, in the model ${model.length}: ${names(real)} / ${names(model)}`,
      ];
    return [...compareEvents(pairs, real, model)].map((one) => `${this.text}: ${one}`);
  }
}

/** Bookmarks come when they like, but for the one that ends the first state. */
function isTold({ type, object }: Event): boolean {
  return type !== "BOOKMARK" || json(metaOf(object)["annotations"])[INITIAL_END] !== undefined;
}

const names = (events: readonly Event[]) =>
  events.map(({ type, object }) => `${type} ${String(metaOf(object)["name"])}`).join(", ");

function compareEvents(pairs: Pairs, real: readonly Event[], model: readonly Event[]): string[] {
  const [r, m] = [inOrder(real), inOrder(model)];
  if (r.length !== m.length) return [`${names(r)}, in the model ${names(m)}`];
  return r.flatMap((event, i) => {
    const other = m[i] as Event;
    if (event.type === "BOOKMARK" && other.type === "BOOKMARK") return [];
    return differences(pairs, event, other, `[${i} ${event.type} ${String(metaOf(event.object)["name"])}]`);
  });
}

/** The first state has no order of its own. */
function inOrder(events: readonly Event[]): readonly Event[] {
  const end = events.findIndex(({ type }) => type === "BOOKMARK");
  if (end < 0) return events;
  const key = ({ object }: Event) =>
    `${String(metaOf(object)["namespace"])}/${String(metaOf(object)["name"])}`;
  const first = events.slice(0, end).toSorted((a, b) => (key(a) < key(b) ? -1 : 1));
  return [...first, ...events.slice(end)];
}
