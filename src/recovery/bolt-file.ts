/**
 * Looks things up in a bbolt file without reading all of it: the entries of a small bucket, the last key of a large one.
 * A page that does not fit is an error, never a guess.
 */
import type { Disk } from "../seams/disk.ts";
import {
  BRANCH_ELEMENT,
  BRANCH_PAGE,
  BUCKET_ELEMENT,
  BUCKET_HEADER,
  DatabaseError,
  LARGEST_PAGE_SIZE,
  LEAF_ELEMENT,
  LEAF_PAGE,
  PAGE_HEADER,
  readMeta,
  type Meta,
} from "../snapshot/bolt/format.ts";

export interface BoltEntry {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
  readonly isBucket: boolean;
}

type Page =
  | { readonly kind: "leaf"; readonly entries: readonly BoltEntry[] }
  | { readonly kind: "branch"; readonly children: readonly number[] };

/** A page, or the only page of a small bucket, which lies in the list of buckets. */
type Root = number | Uint8Array;

const DEEPEST = 32;
const LONGEST_PAGE = 64 * 1024 * 1024;

export class BoltFile {
  readonly #disk: Disk;
  readonly #file: string;
  readonly #meta: Meta;

  private constructor(disk: Disk, file: string, meta: Meta) {
    this.#disk = disk;
    this.#file = file;
    this.#meta = meta;
  }

  /** Undefined when there is no such file. */
  static async open(disk: Disk, file: string): Promise<BoltFile | undefined> {
    if ((await disk.stat(file)) === undefined) return undefined;
    const meta = readMeta(await disk.readBytes(file, 0, 2 * LARGEST_PAGE_SIZE));
    if (meta === undefined || meta.pageSize < 512 || meta.pageSize > LARGEST_PAGE_SIZE)
      throw new DatabaseError("it does not begin like an etcd database (no valid bbolt meta page)");
    return new BoltFile(disk, file, meta);
  }

  /** All entries of a bucket, in the order of keys; none when it does not exist. */
  async bucket(name: string): Promise<readonly BoltEntry[]> {
    const root = await this.#rootOf(name);
    return root === undefined ? [] : await this.#entries(root);
  }

  async lastKey(name: string): Promise<Uint8Array | undefined> {
    let root = await this.#rootOf(name);
    for (let depth = 0; root !== undefined && depth < DEEPEST; depth++) {
      const page: Page = await this.#page(root);
      if (page.kind === "leaf") return page.entries.at(-1)?.key;
      root = page.children.at(-1);
    }
    return undefined;
  }

  async #rootOf(name: string): Promise<Root | undefined> {
    const wanted = Buffer.from(name);
    const found = (await this.#entries(this.#meta.root)).find(
      ({ isBucket, key }) => isBucket && wanted.equals(key),
    );
    if (found === undefined) return undefined;
    if (found.value.length < BUCKET_HEADER) throw new DatabaseError(`the bucket ${name} is cut off`);
    const page = Number(viewOf(found.value).getBigUint64(0, true));
    return page === 0 ? found.value.subarray(BUCKET_HEADER) : page;
  }

  async #entries(root: Root, depth = 0): Promise<BoltEntry[]> {
    if (depth > DEEPEST) throw new DatabaseError("its pages lead in a circle");
    const page = await this.#page(root);
    if (page.kind === "leaf") return [...page.entries];
    const all: BoltEntry[] = [];
    for (const child of page.children) all.push(...(await this.#entries(child, depth + 1)));
    return all;
  }

  async #page(root: Root): Promise<Page> {
    if (typeof root !== "number") return pageOf(root, "an inline bucket");
    const { pageSize, pages } = this.#meta;
    if (root < 2 || root >= pages)
      throw new DatabaseError(`a reference leads to page ${root}, which the database does not have`);
    const first = await this.#disk.readBytes(this.#file, root * pageSize, pageSize);
    if (first.length < pageSize) throw new DatabaseError(`it ends before page ${root}`);
    const header = viewOf(first);
    if (Number(header.getBigUint64(0, true)) !== root)
      throw new DatabaseError(`page ${root} is not a valid page of the database`);
    const length = (1 + header.getUint32(12, true)) * pageSize;
    if (length > LONGEST_PAGE) throw new DatabaseError(`page ${root} is too long`);
    const whole =
      length === pageSize ? first : await this.#disk.readBytes(this.#file, root * pageSize, length);
    return pageOf(whole, `page ${root}`);
  }
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function pageOf(bytes: Uint8Array, name: string): Page {
  const damaged = () => new DatabaseError(`${name} is not a valid page of the database`);
  if (bytes.length < PAGE_HEADER) throw damaged();
  const view = viewOf(bytes);
  const [flags, count] = [view.getUint16(8, true), view.getUint16(10, true)];
  if (flags !== LEAF_PAGE && flags !== BRANCH_PAGE) throw damaged();
  const elementSize = flags === BRANCH_PAGE ? BRANCH_ELEMENT : LEAF_ELEMENT;
  if (PAGE_HEADER + count * elementSize > bytes.length) throw damaged();
  const elements = Array.from({ length: count }, (_, index) => PAGE_HEADER + index * elementSize);
  if (flags === BRANCH_PAGE)
    return { kind: "branch", children: elements.map((at) => Number(view.getBigUint64(at + 8, true))) };
  const entries = elements.map((at) => {
    const keyAt = at + view.getUint32(at + 4, true);
    const valueAt = keyAt + view.getUint32(at + 8, true);
    const end = valueAt + view.getUint32(at + 12, true);
    if (end > bytes.length) throw damaged();
    return {
      key: bytes.subarray(keyAt, valueAt),
      value: bytes.subarray(valueAt, end),
      isBucket: (view.getUint32(at, true) & BUCKET_ELEMENT) !== 0,
    };
  });
  return { kind: "leaf", entries };
}
