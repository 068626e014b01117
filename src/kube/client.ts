/**
 * Calls to the API server, typed by resource. Protects from the upsert that server-side apply is (H9: with a stale
 * cache it would bring a deleted object back, or write into a stranger's): objects are made by POST, an
 * apply always carries the UID it is meant for, and so does a delete.
 */
import { deadline, type Clock } from "../seams/clock.ts";
import type { KubeRequest, KubeResponse, KubeTransport } from "../seams/kube-transport.ts";
import { describeRequest, errorFromFailure, errorFromResponse, isReason, isStatus } from "./errors.ts";
import { listRequest, type ListWishes } from "./list-request.ts";
import {
  apiVersionOf,
  hasEnded,
  keyOf,
  pathOf,
  type KubeObject,
  type Ref,
  type Resource,
} from "./resources.ts";
import { selectors, type Scope } from "./scope.ts";
import { stripped } from "./strip.ts";

export interface ClientOptions {
  readonly transport: KubeTransport;
  readonly clock: Clock;
  /** Under which name the server keeps which fields are ours. */
  readonly fieldManager: string;
  /** For each call that names none. */
  readonly timeoutMs?: number;
  /** Told of every call, for metrics. */
  readonly onCall?: (call: CallReport) => void;
}

export interface CallReport {
  readonly verb: string;
  readonly resource: string;
  /** The HTTP status; undefined when there was no answer. */
  readonly status: number | undefined;
  readonly ms: number;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
  /** Past our own limits: for leases. */
  readonly urgent?: boolean;
}

/** A write of ours as the server confirmed it, or what it answered when a write found that the cache was behind. */
export type Write =
  | { readonly type: "applied"; readonly object: KubeObject }
  | { readonly type: "gone"; readonly key: string; readonly uid: string };

export interface Page<T> {
  readonly items: readonly T[];
  readonly resourceVersion: string;
}

/** One object and no other: names return, UIDs never do. */
export interface Identified {
  readonly metadata: { readonly name: string; readonly uid: string };
}

export interface DeleteWishes {
  /** The object that is meant; one that has taken its name is left alone. */
  readonly uid: string;
  /** Only in the state it was decided on. */
  readonly resourceVersion?: string;
  readonly propagation?: "Background" | "Foreground" | "Orphan";
  readonly gracePeriodSeconds?: number;
}

interface Scale extends KubeObject {
  readonly spec?: { readonly replicas?: number };
  readonly status?: { readonly replicas: number };
}

const TIMEOUT_MS = 10_000;
const MERGE = "application/merge-patch+json";
const STRATEGIC = "application/strategic-merge-patch+json";
const APPLY = "application/apply-patch+yaml";

export class KubeClient {
  readonly #options: ClientOptions;
  readonly #listeners = new Set<(resource: Resource, write: Write) => void>();

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  /** Tells of every write, so that caches can show it before the watch does. Returns how to stop that. */
  onWrite(listener: (resource: Resource, write: Write) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async get<T extends KubeObject>(resource: Resource<T>, ref: Ref, options?: CallOptions): Promise<T> {
    return await this.#object(resource, { method: "GET", path: pathOf(resource, ref) }, options);
  }

  /** As `get`; undefined when there is none. */
  async find<T extends KubeObject>(
    resource: Resource<T>,
    ref: Ref,
    options?: CallOptions,
  ): Promise<T | undefined> {
    return await orNone(this.get(resource, ref, options));
  }

  /** Everything in the scope as of one moment, page by page. */
  async *pages<T extends KubeObject>(
    resource: Resource<T>,
    scope: Scope = {},
    options: CallOptions & ListWishes = {},
  ): AsyncGenerator<Page<T>> {
    const { apiVersion, kind } = typeOf(resource);
    let token = "";
    do {
      const request = listRequest(resource, scope, token, options);
      const { body } = await this.call(resource, "list", request, options);
      const list = body as {
        items?: T[];
        metadata?: { resourceVersion?: string; continue?: string };
      };
      // The items of a list do not say what they are, unlike those of a watch.
      const items = (list.items ?? []).map((item) => stripped({ ...item, apiVersion, kind }));
      yield { items, resourceVersion: list.metadata?.resourceVersion ?? "" };
      token = list.metadata?.continue ?? "";
    } while (token !== "");
  }

  async list<T extends KubeObject>(
    resource: Resource<T>,
    scope: Scope = {},
    options: CallOptions & ListWishes = {},
  ): Promise<Page<T>> {
    for (let tries = 0; ; tries++) {
      try {
        const items: T[] = [];
        let resourceVersion = "";
        for await (const page of this.pages(resource, scope, options)) {
          items.push(...page.items);
          ({ resourceVersion } = page);
        }
        return { items, resourceVersion };
      } catch (error) {
        // The rest of the list is not kept for ever; from the start then, once.
        if (tries > 0 || !isReason(error, "Expired")) throw error;
      }
    }
  }

  /** Opens a watch: the raw events. It lasts until it is left, the server ends it, or `signal` aborts. */
  async watch(
    resource: Resource,
    scope: Scope,
    query: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<AsyncIterable<unknown>> {
    const path = pathOf(resource, scope.namespace === undefined ? {} : { namespace: scope.namespace });
    const request: KubeRequest = {
      method: "GET",
      path,
      query: { watch: "true", ...selectors(scope), ...query },
    };
    const what = `watch ${path}`;
    const { transport } = this.#options;
    const opened = await this.#measured(
      resource,
      "watch",
      async () => {
        const answer = await transport.stream(request, { signal });
        return { status: answer.ok ? 200 : answer.response.status, answer };
      },
      what,
    );
    if (!opened.answer.ok) throw errorFromResponse(what, opened.answer.response);
    return opened.answer.objects;
  }

  /** Makes a new object; never touches one that is there (`AlreadyExists`). */
  async create<T extends KubeObject>(resource: Resource<T>, object: T, options?: CallOptions): Promise<T> {
    const { namespace } = object.metadata ?? {};
    const path = pathOf(resource, namespace === undefined ? {} : { namespace });
    if (resource.namespaced && namespace === undefined)
      throw new TypeError(`${resource.kind} ${object.metadata?.name}: a namespace is needed`);
    const query = { fieldManager: this.#options.fieldManager };
    const body = { ...typeOf(resource), ...object };
    return await this.#write(resource, "create", { method: "POST", path, query, body }, options);
  }

  /**
   * Server-side apply on an object that exists: the fields given become ours and have these values, those we
   * gave before and do not now are let go. Another manager's fields are taken unless `force` is false.
   */
  async apply<T extends KubeObject>(
    resource: Resource<T>,
    object: T & Identified,
    options: CallOptions & { readonly force?: boolean; readonly subresource?: "status" } = {},
  ): Promise<T> {
    const { name, uid, namespace } = object.metadata;
    if (!uid) throw new TypeError(`${resource.kind} ${name}: an apply needs the UID of the object it is for`);
    const request: KubeRequest = {
      method: "PATCH",
      path: pathOf(resource, {
        name,
        ...(namespace !== undefined && { namespace }),
        ...(options.subresource && { subresource: options.subresource }),
      }),
      query: { fieldManager: this.#options.fieldManager, force: String(options.force ?? true) },
      body: { ...typeOf(resource), ...object },
      contentType: APPLY,
    };
    return await this.#write(resource, "apply", request, options);
  }

  /** Replaces an object as a whole, in the state (`resourceVersion`) it was read in, or not at all. */
  async replace<T extends KubeObject>(
    resource: Resource<T>,
    object: T,
    options: CallOptions & { readonly subresource?: "status" } = {},
  ): Promise<T> {
    const { name = "", namespace, resourceVersion } = object.metadata ?? {};
    if (!resourceVersion)
      throw new TypeError(`${resource.kind} ${name}: a replace needs the resourceVersion it was decided on`);
    const request: KubeRequest = {
      method: "PUT",
      path: pathOf(resource, {
        name,
        ...(namespace !== undefined && { namespace }),
        ...(options.subresource && { subresource: options.subresource }),
      }),
      query: { fieldManager: this.#options.fieldManager },
      body: { ...typeOf(resource), ...object },
    };
    return await this.#write(resource, "update", request, options);
  }

  /** A merge patch: `null` removes a field, lists are replaced as a whole unless it is strategic. */
  async patch<T extends KubeObject>(
    resource: Resource<T>,
    ref: Ref,
    patch: Readonly<Record<string, unknown>> & { readonly metadata?: object },
    options: CallOptions & {
      readonly uid: string;
      readonly resourceVersion?: string;
      readonly subresource?: "status" | "scale" | "resize";
      /** Lists of built-in kinds are merged by their keys. */
      readonly strategic?: boolean;
    },
  ): Promise<T> {
    const { uid, resourceVersion, subresource, strategic } = options;
    const metadata = { ...patch.metadata, uid, ...(resourceVersion !== undefined && { resourceVersion }) };
    const request: KubeRequest = {
      method: "PATCH",
      path: pathOf(resource, { ...ref, ...(subresource && { subresource }) }),
      query: { fieldManager: this.#options.fieldManager },
      body: { ...patch, metadata },
      contentType: strategic ? STRATEGIC : MERGE,
    };
    return await this.#write(resource, "patch", request, options);
  }

  async patchStatus<T extends KubeObject>(
    resource: Resource<T>,
    ref: Ref,
    status: object,
    options: CallOptions & { readonly uid: string; readonly resourceVersion?: string },
  ): Promise<T> {
    return await this.patch(resource, ref, { status }, { ...options, subresource: "status" });
  }

  async scale(resource: Resource, ref: Ref, options?: CallOptions): Promise<Scale> {
    const path = pathOf(resource, { ...ref, subresource: "scale" });
    const { body } = await this.call(resource, "get", { method: "GET", path }, options);
    return body as Scale;
  }

  async setScale(resource: Resource, ref: Ref, replicas: number, options?: CallOptions): Promise<Scale> {
    const request: KubeRequest = {
      method: "PATCH",
      path: pathOf(resource, { ...ref, subresource: "scale" }),
      query: { fieldManager: this.#options.fieldManager },
      body: { spec: { replicas } },
      contentType: MERGE,
    };
    return (await this.call(resource, "patch", request, options)).body as Scale;
  }

  /** `deleting`: it goes when its grace period is over and its finalizers have let go. */
  async delete(
    resource: Resource,
    ref: Ref,
    wishes: DeleteWishes,
    options?: CallOptions,
  ): Promise<"gone" | "deleting"> {
    const { uid, resourceVersion, propagation, gracePeriodSeconds } = wishes;
    const body = {
      kind: "DeleteOptions",
      apiVersion: "v1",
      preconditions: { uid, ...(resourceVersion !== undefined && { resourceVersion }) },
      ...(propagation && { propagationPolicy: propagation }),
      ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds }),
    };
    const request: KubeRequest = { method: "DELETE", path: pathOf(resource, ref), body };
    const answer = await orNone(this.call(resource, "delete", request, options));
    const object = answer === undefined || isStatus(answer.body) ? undefined : (answer.body as KubeObject);
    if (object?.metadata?.deletionTimestamp !== undefined) {
      this.#tell(resource, { type: "applied", object: stripped(object) });
      return "deleting";
    }
    this.#tell(resource, { type: "gone", key: keyOf({ metadata: ref }), uid });
    return "gone";
  }

  async #object<T extends KubeObject>(
    resource: Resource<T>,
    request: KubeRequest,
    options?: CallOptions,
  ): Promise<T> {
    const { body } = await this.call(resource, "get", request, options);
    return stripped(body as T);
  }

  async #write<T extends KubeObject>(
    resource: Resource<T>,
    verb: string,
    request: KubeRequest,
    options?: CallOptions,
  ): Promise<T> {
    const { body } = await this.call(resource, verb, request, options);
    const object = stripped(body as T);
    if (hasEnded(object)) {
      const { uid = "" } = object.metadata ?? {};
      this.#tell(resource, { type: "gone", key: keyOf(object), uid });
    } else this.#tell(resource, { type: "applied", object });
    return object;
  }

  /** Shows caches what they did not hold: one whose watch is dead would have it made in vain on every pass. */
  found(resource: Resource, object: KubeObject): void {
    this.#tell(resource, { type: "applied", object });
  }

  #tell(resource: Resource, write: Write): void {
    for (const listener of this.#listeners) listener(resource, write);
  }

  get fieldManager(): string {
    return this.#options.fieldManager;
  }

  /** Any request, for what has no method here: resolves with success, rejects with a `KubeError`. */
  async call(
    resource: Resource,
    verb: string,
    request: KubeRequest,
    options: CallOptions = {},
  ): Promise<KubeResponse> {
    const { transport, clock, timeoutMs = TIMEOUT_MS } = this.#options;
    const what = describeRequest(request);
    using limit = deadline(clock, options.timeoutMs ?? timeoutMs, options.signal);
    const call = { signal: limit.signal, ...(options.urgent && { urgent: true }) };
    const response = await this.#measured(resource, verb, () => transport.request(request, call), what);
    if (response.status >= 200 && response.status < 300) return response;
    throw errorFromResponse(what, response);
  }

  async #measured<R extends { status: number }>(
    resource: Resource,
    verb: string,
    work: () => Promise<R>,
    what: string,
  ): Promise<R> {
    const { clock, onCall } = this.#options;
    const began = clock.monotonic();
    let status: number | undefined;
    try {
      const answer = await work();
      status = answer.status;
      return answer;
    } catch (error) {
      throw errorFromFailure(what, error);
    } finally {
      onCall?.({ verb, resource: resource.plural, status, ms: clock.monotonic() - began });
    }
  }
}

function typeOf(resource: Resource): { apiVersion: string; kind: string } {
  return { apiVersion: apiVersionOf(resource), kind: resource.kind };
}

async function orNone<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (isReason(error, "NotFound")) return undefined;
    throw error;
  }
}
