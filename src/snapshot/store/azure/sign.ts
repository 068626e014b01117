/** A request to Azure Blob Storage, signed with the key of the account (Shared Key). */
import { createHmac } from "node:crypto";

export interface Signable {
  readonly method: string;
  /** As sent, encoded, without the query. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** Lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly length: number;
}

/** Between the length and the `x-ms-` headers, in this order. */
const BEFORE_LENGTH = ["content-encoding", "content-language"];
const AFTER_LENGTH = [
  "content-md5",
  "content-type",
  "date",
  "if-modified-since",
  "if-match",
  "if-none-match",
  "if-unmodified-since",
  "range",
];

export function sharedKey(request: Signable, account: string, key: Buffer): string {
  const header = (name: string) => request.headers[name] ?? "";
  const ours = Object.keys(request.headers)
    .filter((name) => name.startsWith("x-ms-"))
    .toSorted()
    .map((name) => `${name}:${header(name).trim()}\n`);
  const query = Object.keys(request.query)
    .toSorted()
    .map((name) => `\n${name.toLowerCase()}:${request.query[name]}`);
  const text = [
    request.method,
    ...BEFORE_LENGTH.map(header),
    request.length === 0 ? "" : String(request.length),
    ...AFTER_LENGTH.map(header),
    `${ours.join("")}/${account}${request.path}${query.join("")}`,
  ].join("\n");
  return `SharedKey ${account}:${createHmac("sha256", key).update(text, "utf8").digest("base64")}`;
}
