/**
 * EtcdClusters as YAML text. Every error carries the line it is about, be it in the text or in a field.
 */
import {
  LineCounter,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  parseAllDocuments,
  type Document,
  type Node,
} from "yaml";
import type { EtcdCluster } from "./etcd-cluster.ts";
import { parseCluster, type ParsedCluster } from "./parse-cluster.ts";
import type { ApiError } from "./validate.ts";

export function parseClusterYaml(text: string, old?: EtcdCluster): ParsedCluster {
  const lines = new LineCounter();
  const documents = [...parseAllDocuments(text, { lineCounter: lines, prettyErrors: false })].filter(
    (document) => document.errors.length > 0 || document.toJS() !== null,
  );
  const broken = documents.flatMap((document) => document.errors);
  if (broken.length > 0) {
    const errors = broken.map((error) => ({
      path: "",
      message: `not valid YAML: ${error.message}`,
      line: lines.linePos(error.pos[0]).line,
    }));
    return { ok: false, errors };
  }
  const [document, second] = documents;
  if (!document) return failure("the file is empty: it should hold one EtcdCluster");
  if (second)
    return failure(
      "the file holds several documents: it should hold one EtcdCluster",
      lineOf(second, "", lines),
    );
  const result = parseCluster(document.toJS(), old);
  if (result.ok) return result;
  return {
    ok: false,
    errors: result.errors.map((error) => withLine(error, lineOf(document, error.path, lines))),
  };
}

function failure(message: string, line?: number): ParsedCluster {
  return { ok: false, errors: [withLine({ path: "", message }, line)] };
}

function withLine(error: ApiError, line: number | undefined): ApiError {
  return line === undefined ? error : { ...error, line };
}

/** The line of the deepest part of the path that is in the text: a missing field has its parent's line. */
function lineOf(document: Document, path: string, lines: LineCounter): number | undefined {
  let node: unknown = document.contents;
  let offset = isNode(node) ? node.range?.[0] : undefined;
  for (const key of keysOf(path)) {
    const found = step(node, key);
    if (!found) break;
    ({ node } = found);
    offset = found.offset ?? offset;
  }
  return offset === undefined ? undefined : lines.linePos(offset).line;
}

function step(node: unknown, key: string): { node: unknown; offset: number | undefined } | undefined {
  if (isSeq(node)) {
    const item = node.items[Number(key)];
    return isNode(item) ? { node: item, offset: item.range?.[0] } : undefined;
  }
  if (!isMap(node)) return undefined;
  const pair = node.items.find(
    (item) => isPair(item) && isScalar(item.key) && String(item.key.value) === key,
  );
  return pair && { node: pair.value, offset: (pair.key as Node).range?.[0] };
}

/** `spec.pod.labels[a.b]` → spec, pod, labels, a.b */
function keysOf(path: string): string[] {
  return [...path.matchAll(/\[([^\]]*)\]|([^.[\]]+)/g)].map(
    ([, bracketed, plain]) => bracketed ?? plain ?? "",
  );
}
