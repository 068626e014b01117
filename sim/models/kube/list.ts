/** Lists: selections, pages, and which version of the world is meant (resourceVersion, resourceVersionMatch). */
import type { Kind } from "./kind.ts";
import { frozen, type Json, type KubeJson } from "./object.ts";
import { badRequest, expired, Refusal } from "./refusal.ts";
import { everything, fieldSelector, labelSelector, type Selector } from "./selectors.ts";
import type { Storage, Stored } from "./storage.ts";

type Query = Readonly<Record<string, string>>;

/** What of a kind is meant. */
export function selection(kind: Kind, namespace: string | undefined, query: Query): Selector {
  const place: Selector =
    namespace === undefined ? everything : ({ metadata }) => metadata.namespace === namespace;
  const labels = labelSelector(query["labelSelector"] ?? "");
  const fields = fieldSelector(
    query["fieldSelector"] ?? "",
    (object, field) => {
      if (field === "metadata.name") return object.metadata.name;
      if (field === "metadata.namespace") return object.metadata.namespace;
      return kind.selectable[field]?.(object);
    },
    (field) =>
      field === "metadata.name" ||
      (field === "metadata.namespace" && kind.namespaced) ||
      field in kind.selectable,
  );
  const parts = [place, labels, fields].filter((part) => part !== everything);
  if (parts.length === 0) return everything;
  return (object) => parts.every((part) => part(object));
}

export interface Wanted {
  /** "" for the newest, "0" for any. */
  readonly version: string;
  readonly match: "" | "Exact" | "NotOlderThan";
}

export function wantedVersion(query: Query): Wanted {
  const { resourceVersion: version = "", resourceVersionMatch: match = "" } = query;
  if (version !== "" && !/^[0-9]+$/.test(version)) throw badRequest(`Invalid value: "${version}"`);
  return { version, match: match as Wanted["match"] };
}

export function tooNew(version: string, current: number): Refusal {
  return new Refusal(504, "Timeout", `Too large resource version: ${version}, current: ${current}`, {
    causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
    retryAfterSeconds: 1,
  });
}

interface Token {
  readonly version: number;
  readonly after: string;
}

export function listOf(
  storage: Storage,
  kind: Kind,
  namespace: string | undefined,
  query: Query,
  { asOf = storage.version, whole }: { readonly asOf?: number | undefined; readonly whole: boolean },
): Json {
  const wanted = wantedVersion(query);
  const token = tokenOf(query["continue"] ?? "");
  refuseNonsense(wanted, query, token);
  const limit = Number(query["limit"] ?? 0);
  // One object by its name is no list to be paged: any state that is new enough will do.
  const single =
    (query["fieldSelector"] ?? "").startsWith("metadata.name=") &&
    (namespace !== undefined || !kind.namespaced);
  const version = token?.version ?? versionOf(storage, wanted, single ? 0 : limit, asOf);
  if (version < storage.compacted)
    throw expired(
      token
        ? "The provided continue parameter is too old to display a consistent list result."
        : `The resourceVersion for the provided list is too old.`,
    );
  const selects = selection(kind, namespace, query);
  const found: KubeJson[] = [];
  let last = "";
  let more = 0;
  for (const [key, stored] of storage.list(kind, version)) {
    if (token && key <= token.after) continue;
    if (!selects(stored.object)) continue;
    if (limit > 0 && found.length >= limit) {
      more++;
      continue;
    }
    found.push(shownInList(kind, stored, whole));
    last = key;
  }
  const selected = query["labelSelector"] !== undefined || query["fieldSelector"] !== undefined;
  return {
    kind: `${kind.kind}List`,
    apiVersion: kind.apiVersion,
    metadata: {
      resourceVersion: String(version),
      // Lists of resources that are not the server's own say that there is no more.
      ...(more > 0 ? { continue: `${version}:${last}` } : !kind.builtIn && { continue: "" }),
      ...(more > 0 && !selected && { remainingItemCount: more }),
    },
    items: found,
  };
}

function versionOf(storage: Storage, wanted: Wanted, limit: number, asOf: number): number {
  // Without a version a list is read through the quorum of what a real server stores it in, like one object.
  if (wanted.version === "") return storage.version;
  if (wanted.version === "0") return asOf;
  const asked = Number(wanted.version);
  if (asked > storage.version) throw tooNew(wanted.version, storage.version);
  const exact = wanted.match === "Exact" || (wanted.match === "" && limit > 0);
  return exact ? asked : Math.max(asked, asOf);
}

function tokenOf(text: string): Token | undefined {
  if (text === "") return undefined;
  const [version = "", ...key] = text.split(":");
  if (!/^[0-9]+$/.test(version)) throw badRequest("continue key is not valid");
  return { version: Number(version), after: key.join(":") };
}

function refuseNonsense({ version, match }: Wanted, query: Query, token: Token | undefined): void {
  const refuse = (field: string, reason: string, message: string) => {
    throw new Refusal(422, "Invalid", `ListOptions.meta.k8s.io "" is invalid: ${field}: ${message}`, {
      group: "meta.k8s.io",
      kind: "ListOptions",
      causes: [{ reason, message, field }],
    });
  };
  if (match === "") {
    if (token && version !== "" && version !== "0")
      throw badRequest("specifying resource version is not allowed when using continue");
    return;
  }
  const why = (text: string) => `Forbidden: ${text}`;
  if (version === "")
    refuse(
      "resourceVersionMatch",
      "FieldValueForbidden",
      why("resourceVersionMatch is forbidden unless resourceVersion is provided"),
    );
  if (query["continue"])
    refuse(
      "resourceVersionMatch",
      "FieldValueForbidden",
      why("resourceVersionMatch is forbidden when continue is provided"),
    );
  if (match !== "Exact" && match !== "NotOlderThan")
    refuse("resourceVersionMatch", "FieldValueNotSupported", `Unsupported value: "${String(match)}"`);
  if (match === "Exact" && version === "0")
    refuse(
      "resourceVersionMatch",
      "FieldValueForbidden",
      why('resourceVersionMatch "exact" is forbidden for resourceVersion "0"'),
    );
}

/** Items of the server's own types do not say what they are. */
function shownInList(kind: Kind, stored: Stored, whole: boolean): KubeJson {
  const object = whole ? stored.shown : stored.object;
  if (!kind.builtIn) return object;
  const known = bare.get(object);
  if (known) return known;
  const { apiVersion: _a, kind: _k, ...rest } = object;
  const made = frozen(rest) as KubeJson;
  bare.set(object, made);
  return made;
}

const bare = new WeakMap<KubeJson, KubeJson>();
