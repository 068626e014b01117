/**
 * The model API server without its network: a request in, the answer out, and everything it does has happened
 * then. `front.ts` puts latency, watches and faults around it.
 */
import type { KubeRequest, KubeResponse } from "../../../src/seams/kube-transport.ts";
import type { SeededRandom } from "../../engine/random.ts";
import { deleteObject, deleteOptions } from "./delete.ts";
import { evict } from "./eviction.ts";
import type { Kind, Surroundings } from "./kind.ts";
import { certificates } from "./kinds/certificate.ts";
import { scaleOf } from "./kinds/ours.ts";
import { namespaces, storageClasses } from "./kinds/simple.ts";
import { services } from "./kinds/service.ts";
import { listOf } from "./list.ts";
import { isJson, json, timestamp, type Json, type KubeJson } from "./object.ts";
import { badRequest, causes, invalid, notFound, Refusal } from "./refusal.ts";
import { routeOf, unknownResource, type Route } from "./route.ts";
import { Storage, type Stored } from "./storage.ts";
import { patch, refuseType, replace } from "./verbs.ts";
import { create, keyOf, type World } from "./write.ts";

export interface ServerOptions {
  readonly random: SeededRandom;
  /** Wall time in milliseconds. */
  readonly now: () => number;
  /** Show managedFields in every answer, as a real server does. Our client takes them off at once. */
  readonly whole?: boolean;
  readonly tolerationSeconds?: number;
  /** Namespaces that are there from the start. */
  readonly namespaces?: readonly string[];
}

const ALPHABET = "bcdfghjklmnpqrstvwxz2456789".split("");
/** Of the Kubernetes whose answers these are. */
const GIT_VERSION = "v1.36.4";
const DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class";

export class ModelServer implements World {
  readonly storage: Storage;
  readonly surroundings: Surroundings;
  readonly now: () => number;
  readonly whole: boolean;
  /** Kinds, by their plural, whose definition nobody has installed. */
  readonly unserved = new Set<string>([certificates.plural]);
  readonly #random: SeededRandom;
  #addresses = 0;
  #ports = 30_000;

  constructor(options: ServerOptions) {
    this.#random = options.random;
    this.now = options.now;
    this.whole = options.whole ?? false;
    this.storage = new Storage(options.now);
    this.surroundings = {
      now: () => timestamp(this.now()),
      suffix: () => Array.from({ length: 5 }, () => this.#random.pick(ALPHABET)).join(""),
      clusterIP: () => `10.96.${1 + Math.floor(this.#addresses / 250)}.${1 + (this.#addresses++ % 250)}`,
      isTaken: (ip) => this.list(services).some(({ spec }) => json(spec)["clusterIP"] === ip),
      nodePort: () => this.#ports++,
      defaultStorageClass: () => this.#defaultClass(),
      storageClass: (name) => this.storage.get(storageClasses, name)?.object,
      tolerationSeconds: options.tolerationSeconds ?? 300,
    };
    for (const name of options.namespaces ?? ["default"])
      create(this, namespaces, { metadata: { name } }, { manager: "kube-apiserver", subresource: "" });
  }

  uid(): string {
    const hex = [...this.#random.bytes(16)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    return [
      hex.slice(0, 8),
      hex.slice(8, 12),
      `4${hex.slice(13, 16)}`,
      `a${hex.slice(17, 20)}`,
      hex.slice(20),
    ].join("-");
  }

  #defaultClass(): string | undefined {
    const found = this.storage
      .list(storageClasses)
      .find(([, { object }]) => object.metadata.annotations?.[DEFAULT_CLASS] === "true");
    return found?.[1].object.metadata.name;
  }

  /** One object as it is; for the models around, which need no request for it. */
  get(kind: Kind, key: string): KubeJson | undefined {
    return this.storage.get(kind, key)?.object;
  }

  list(kind: Kind): readonly KubeJson[] {
    return this.storage.list(kind).map(([, { object }]) => object);
  }

  /**
   * `asOf`: lists that ask for version 0 answer as of this version, as from a cache that is behind. One object by its
   * name, and a list that asks for no version, is read through the quorum of what a real server stores it in: whoever has
   * to know what is so right now relies on that.
   */
  handle(request: KubeRequest, asOf?: number): KubeResponse {
    if (request.path === "/version") return { status: 200, body: { gitVersion: GIT_VERSION } };
    try {
      return this.#answer(request, routeOf(request.path), asOf);
    } catch (error) {
      if (error instanceof Refusal) return error.response;
      throw error;
    }
  }

  #answer(request: KubeRequest, route: Route, asOf: number | undefined): KubeResponse {
    const { method, body, query = {} } = request;
    const { kind, namespace, name, subresource } = route;
    if (this.unserved.has(kind.plural)) throw unknownResource();
    if (name === undefined) {
      if (method === "GET") {
        const found = listOf(this.storage, kind, namespace, query, { asOf, whole: this.whole });
        return { status: 200, body: found };
      }
      if (method === "POST")
        return { status: 201, body: this.#shown(this.#create(route, json(body), query)) };
      throw new Refusal(
        405,
        "MethodNotAllowed",
        "the server does not allow this method on the requested resource",
      );
    }
    const named = { ...route, name };
    this.#refuseSubresource(named, method);
    switch (method) {
      case "GET":
        return { status: 200, body: this.#read(named) };
      case "PUT":
      case "PATCH": {
        const { stored, created } =
          method === "PUT"
            ? replace(this, named, json(body), query)
            : patch(this, named, body, request.contentType, query);
        const answer = subresource === "scale" ? scaleOf(stored.object) : this.#shown(stored);
        return { status: created ? 201 : 200, body: answer };
      }
      case "DELETE":
        return this.#delete(named, body, query);
      case "POST":
        if (subresource === "eviction") return evict(this, namespace ?? "", name, json(body));
        throw new Refusal(
          405,
          "MethodNotAllowed",
          "the server does not allow this method on the requested resource",
        );
    }
  }

  #shown(stored: Stored): KubeJson {
    return this.whole ? stored.shown : stored.object;
  }

  #read({ kind, namespace, name, subresource }: Route & { name: string }): Json {
    const key = keyOf({ namespace, name });
    const stored = this.storage.get(kind, key);
    if (stored === undefined) throw notFound(kind, name);
    // Always whole: who reads one object may want to know whose its fields are (src/kube/ownership.ts).
    return subresource === "scale" ? scaleOf(stored.object) : stored.shown;
  }

  #refuseSubresource({ kind, subresource }: Route, method: string): void {
    const known =
      subresource === "" ||
      (subresource === "status" && kind.hasStatus && method !== "DELETE") ||
      (subresource === "scale" && kind.hasScale && method !== "DELETE") ||
      (subresource === "eviction" && kind.plural === "pods" && method === "POST");
    if (!known) throw new Refusal(404, "NotFound", "the server could not find the requested resource");
  }

  #create(route: Route, body: Json, query: Readonly<Record<string, string>>): Stored {
    const { kind, namespace } = route;
    refuseType(route, body);
    const given = json(body["metadata"]);
    const place = given["namespace"];
    if (kind.namespaced && place !== undefined && place !== namespace)
      throw badRequest(
        "the namespace of the provided object does not match the namespace sent on the request",
      );
    if (kind.namespaced) this.#refuseNamespace(kind, namespace ?? "", String(given["name"] ?? ""));
    if (!given["name"] && !given["generateName"])
      throw invalid(kind, "", [
        causes.required("metadata.name", "Required value: name or generateName is required"),
      ]);
    if (given["resourceVersion"])
      throw badRequest("resourceVersion should not be set on objects to be created");
    const metadata = { ...given, ...(namespace !== undefined && { namespace }) };
    const by = { manager: query["fieldManager"] ?? "unknown", subresource: "" };
    // A dry run goes through every check, and nothing is kept.
    const world = query["dryRun"] === "All" ? dryRun(this) : this;
    return create(world, kind, { ...body, metadata }, by);
  }

  #refuseNamespace(kind: Kind, namespace: string, name: string): void {
    const found = this.get(namespaces, namespace);
    if (!found) throw notFound(namespaces, namespace);
    if (found.metadata.deletionTimestamp === undefined) return;
    const why = `unable to create new content in namespace ${namespace} because it is being terminated`;
    throw new Refusal(403, "Forbidden", `${kind.plural} "${name}" is forbidden: ${why}`, {
      name,
      kind: kind.plural,
      causes: [
        {
          reason: "NamespaceTerminating",
          message: `namespace ${namespace} is being terminated`,
          field: "metadata.namespace",
        },
      ],
    });
  }

  #delete(
    { kind, namespace, name }: Route & { name: string },
    body: unknown,
    query: Readonly<Record<string, string>>,
  ): KubeResponse {
    const options = deleteOptions(isJson(body) ? body : {}, query);
    const old = this.storage.get(kind, keyOf({ namespace, name }));
    if (old === undefined) throw notFound(kind, name);
    const { gone, stored } = deleteObject(this, kind, old, options);
    if (!gone || kind.answersDeleted) return { status: 200, body: this.#shown(stored) };
    const { uid } = stored.object.metadata;
    const details = {
      name,
      ...(kind.group !== "" && { group: kind.group }),
      kind: kind.plural,
      uid,
    };
    return {
      status: 200,
      body: { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", details },
    };
  }
}

function dryRun(world: World): World {
  const { storage, surroundings } = world;
  const untouched = { next: storage.next, get: storage.get.bind(storage), put: () => undefined };
  return {
    storage: untouched as unknown as Storage,
    surroundings: { ...surroundings, clusterIP: () => "10.96.0.1", nodePort: () => 30_000 },
    now: () => world.now(),
    uid: () => world.uid(),
  };
}
