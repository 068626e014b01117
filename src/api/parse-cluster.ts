/**
 * `parseCluster`: from what a person wrote to a valid EtcdCluster with all defaults, or to the list of
 * what is wrong with it. Used where no API server stands in between.
 */
import { etcdClusterSchema, type EtcdCluster } from "./etcd-cluster.ts";
import { API_VERSION } from "./metadata.ts";
import { validator, type ApiError } from "./validate.ts";

export type ParsedCluster = { ok: true; cluster: EtcdCluster } | { ok: false; errors: ApiError[] };

const clusters = validator(etcdClusterSchema);

/** A given status is dropped: like the API server, nobody believes what a manifest says about it. */
export function parseCluster(input: unknown, old?: EtcdCluster): ParsedCluster {
  if (typeof input !== "object" || input === null || Array.isArray(input)) {
    return {
      ok: false,
      errors: [
        { path: "", message: "expected an EtcdCluster: a map with apiVersion, kind, metadata and spec" },
      ],
    };
  }
  const { status: _, ...document } = input as Record<string, unknown>;
  const wrongKind = checkKind(document);
  if (wrongKind.length > 0) return { ok: false, errors: wrongKind };
  const result = clusters.validate(document, old);
  return result.ok ? { ok: true, cluster: result.value } : result;
}

/** Of another kind nothing else can be right: one error instead of a page of them. */
function checkKind({ apiVersion, kind }: Record<string, unknown>): ApiError[] {
  const errors: ApiError[] = [];
  if (apiVersion !== API_VERSION)
    errors.push({ path: "apiVersion", message: `${got(apiVersion)}: write apiVersion: ${API_VERSION}` });
  if (kind !== "EtcdCluster") errors.push({ path: "kind", message: `${got(kind)}: write kind: EtcdCluster` });
  return errors;
}

const got = (value: unknown): string =>
  value === undefined ? "Required value" : `Unsupported value: ${JSON.stringify(value)}`;
