/** For tests: writes a bbolt database as etcd would, with stale pages, overflow and any order of pages. */
import { createHash } from "node:crypto";

export interface RevisionRecord {
  readonly main: number;
  readonly sub: number;
  readonly key: string;
  /** Undefined for a deletion. */
  readonly value?: string;
}

export interface DatabaseOptions {
  /** Key-bucket leaves, each with its records in order. */
  readonly leaves: readonly (readonly RevisionRecord[])[];
  /** Leaves that no transaction reaches any more. */
  readonly stale?: readonly (readonly RevisionRecord[])[];
  /** Turns the list of pages into the order in which they lie in the file. */
  readonly shuffle?: <T>(pages: readonly T[]) => readonly T[];
  readonly storageVersion?: string;
  readonly authRevision?: number;
  /** Undefined where it never was. */
  readonly authEnabled?: boolean;
  readonly compactRevision?: number;
  readonly pageSize?: number;
  /** How many children a branch has at most. */
  readonly fanOut?: number;
}

interface Element {
  readonly flags: number;
  readonly key: Uint8Array;
  readonly value: Uint8Array;
}

type Draft =
  | { readonly kind: "leaf"; readonly elements: readonly Element[] }
  | { readonly kind: "branch"; readonly children: readonly Draft[] };

export function revisionKey({ main, sub, value }: RevisionRecord): Uint8Array {
  const bytes = Buffer.alloc(value === undefined ? 18 : 17);
  bytes.writeBigUInt64BE(BigInt(main), 0);
  bytes[8] = 0x5f;
  bytes.writeBigUInt64BE(BigInt(sub), 9);
  if (value === undefined) bytes[17] = 0x74;
  return bytes;
}

function keyValue({ key, value }: RevisionRecord): Uint8Array {
  // As etcdutl writes it that raises the revision.
  if (key === "") return new Uint8Array(0);
  const field = (tag: number, text: string) => {
    const bytes = Buffer.from(text);
    return [Buffer.from([tag, ...varint(bytes.length)]), bytes];
  };
  return Buffer.concat([...field(0x0a, key), ...(value === undefined ? [] : field(0x2a, value))]);
}

function varint(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(value >>> 7)];
}

function leafOf(records: readonly RevisionRecord[]): Draft {
  return {
    kind: "leaf",
    elements: records.map((record) => ({ flags: 0, key: revisionKey(record), value: keyValue(record) })),
  };
}

function treeOf(leaves: readonly Draft[], fanOut: number): Draft {
  if (leaves.length === 0) return { kind: "leaf", elements: [] };
  let level = leaves;
  while (level.length > 1) {
    const above: Draft[] = [];
    for (let i = 0; i < level.length; i += fanOut)
      above.push({ kind: "branch", children: level.slice(i, i + fanOut) });
    level = above;
  }
  return level[0] as Draft;
}

/** The file as Maintenance.Snapshot sends it: the database and its SHA-256. */
export function snapshotFile(options: DatabaseOptions): Buffer {
  const database = buildDatabase(options);
  return Buffer.concat([database, createHash("sha256").update(database).digest()]);
}

export function buildDatabase(options: DatabaseOptions): Buffer {
  const pageSize = options.pageSize ?? 4096;
  const tree = treeOf(options.leaves.map(leafOf), options.fanOut ?? 3);
  const stale = (options.stale ?? []).map(leafOf);
  const metaElements: Element[] = [
    { flags: 0, key: Buffer.from("consistent_index"), value: Buffer.alloc(8) },
    ...(options.storageVersion === undefined
      ? []
      : [{ flags: 0, key: Buffer.from("storageVersion"), value: Buffer.from(options.storageVersion) }]),
    ...(options.compactRevision === undefined
      ? []
      : [
          {
            flags: 0,
            key: Buffer.from("finishedCompactRev"),
            value: revisionKey({ main: options.compactRevision, sub: 0, key: "", value: "" }),
          },
        ]),
  ];
  const authRevision = Buffer.alloc(8);
  authRevision.writeBigUInt64BE(BigInt(options.authRevision ?? 0));
  const authElements: Element[] = [
    ...(options.authEnabled === undefined
      ? []
      : [{ flags: 0, key: Buffer.from("authEnabled"), value: Buffer.from([options.authEnabled ? 1 : 0]) }]),
    { flags: 0, key: Buffer.from("authRevision"), value: authRevision },
  ];
  const root: Draft & { elements: Element[] } = { kind: "leaf", elements: [] };
  const all: Draft[] = [];
  const collect = (draft: Draft) => {
    all.push(draft);
    if (draft.kind === "branch") draft.children.forEach(collect);
  };
  collect(tree);
  const placed = (options.shuffle ?? ((pages) => pages))([root, ...all, ...stale]);
  const lengthOf = (draft: Draft) =>
    Math.ceil(
      (16 + (draft.kind === "leaf" ? sizeOf(draft.elements) : draft.children.length * 17)) / pageSize,
    ) || 1;
  const numbers = new Map<Draft, number>();
  // The root's own size is known before its content: three small elements.
  let next = 2;
  for (const draft of placed) {
    numbers.set(draft, next);
    next += draft === root ? 1 : lengthOf(draft);
  }
  const pageOf = (draft: Draft) => BigInt(numbers.get(draft) ?? 0);
  const bucket = (page: bigint, inline: Uint8Array = Buffer.alloc(0)) => {
    const header = Buffer.alloc(16);
    header.writeBigUInt64LE(page, 0);
    return Buffer.concat([header, inline]);
  };
  root.elements.push(
    ...(options.authRevision === undefined
      ? []
      : [{ flags: 1, key: Buffer.from("auth"), value: bucket(0n, leafPage(0n, authElements, 16)) }]),
    { flags: 1, key: Buffer.from("key"), value: bucket(pageOf(tree)) },
    { flags: 1, key: Buffer.from("lease"), value: bucket(0n, leafPage(0n, [], 16)) },
    { flags: 1, key: Buffer.from("meta"), value: bucket(0n, leafPage(0n, metaElements, 16)) },
  );
  const pages = placed.map((draft) =>
    draft.kind === "leaf"
      ? leafPage(pageOf(draft), draft.elements, pageSize)
      : branchPage(pageOf(draft), draft.children.map(pageOf), pageSize),
  );
  const meta = (txid: bigint) => metaPage(pageSize, pageOf(root), BigInt(next), txid);
  return Buffer.concat([meta(8n), meta(7n), ...pages]);
}

function sizeOf(elements: readonly Element[]): number {
  return elements.reduce((sum, { key, value }) => sum + 16 + key.length + value.length, 0);
}

function pageHeader(id: bigint, flags: number, count: number, overflow: number): Buffer {
  const header = Buffer.alloc(16);
  header.writeBigUInt64LE(id, 0);
  header.writeUInt16LE(flags, 8);
  header.writeUInt16LE(count, 10);
  header.writeUInt32LE(overflow, 12);
  return header;
}

function leafPage(id: bigint, elements: readonly Element[], pageSize: number): Buffer {
  const total = 16 + sizeOf(elements);
  const pages = Math.max(1, Math.ceil(total / pageSize));
  const page = Buffer.alloc(pageSize === 16 ? total : pages * pageSize);
  pageHeader(id, 0x02, elements.length, pageSize === 16 ? 0 : pages - 1).copy(page);
  let at = 16 + elements.length * 16;
  for (const [index, { flags, key, value }] of elements.entries()) {
    const element = 16 + index * 16;
    page.writeUInt32LE(flags, element);
    page.writeUInt32LE(at - element, element + 4);
    page.writeUInt32LE(key.length, element + 8);
    page.writeUInt32LE(value.length, element + 12);
    page.set(key, at);
    page.set(value, at + key.length);
    at += key.length + value.length;
  }
  return page;
}

function branchPage(id: bigint, children: readonly bigint[], pageSize: number): Buffer {
  const page = Buffer.alloc(pageSize);
  pageHeader(id, 0x01, children.length, 0).copy(page);
  for (const [index, child] of children.entries()) page.writeBigUInt64LE(child, 16 + index * 16 + 8);
  return page;
}

function metaPage(pageSize: number, root: bigint, pages: bigint, txid: bigint): Buffer {
  const page = Buffer.alloc(pageSize);
  pageHeader(txid % 2n === 0n ? 0n : 1n, 0x04, 0, 0).copy(page);
  page.writeUInt32LE(0xed0cdaed, 16);
  page.writeUInt32LE(2, 20);
  page.writeUInt32LE(pageSize, 24);
  page.writeBigUInt64LE(root, 32);
  page.writeBigUInt64LE(0xffffffffffffffffn, 48);
  page.writeBigUInt64LE(pages, 56);
  page.writeBigUInt64LE(txid, 64);
  let hash = 0xcbf29ce484222325n;
  for (const byte of page.subarray(16, 72)) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  page.writeBigUInt64LE(hash, 72);
  return page;
}
