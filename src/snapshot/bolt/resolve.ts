/**
 * From the summaries of all pages to what the database holds: only what can be reached from the root of the latest
 * transaction counts. A page that is missing or damaged on the way is an error, as it is for etcd.
 */
import { DatabaseError } from "./format.ts";
import { HashSet } from "./key-set.ts";
import type { Marks } from "./marks.ts";
import { PageKind, type BucketEntry, type PageScanner, type PageSummary } from "./page-scanner.ts";

export interface DatabaseFacts {
  /** Bytes of the database, without the hash behind it. */
  readonly size: number;
  /** The latest revision that changed a key; 0 while there is none, as etcdutl prints it. */
  readonly revision: number;
  /** Keys that exist at this revision, as etcdutl 3.6 and later print them; undefined when there are too many records to tell. */
  readonly totalKeys: number | undefined;
  /** Entries of all buckets, old revisions and etcd's own data included, as etcdutl 3.5 prints them. */
  readonly totalEntries: number;
  /** Written by etcd 3.6 and later. */
  readonly storageVersion: string | undefined;
  /** Of users and roles; absent where etcd never wrote one. */
  readonly authRevision?: number;
  /** Present where `authRevision` is. */
  readonly authEnabled?: boolean;
  /** History up to here is compacted, or about to be; absent where it never was. */
  readonly compactRevision?: number;
}

/** A tree of pages is this deep at most; a million pages make four levels. */
const DEEPEST = 32;

export function resolveDatabase(scanner: PageScanner): DatabaseFacts {
  const { meta } = scanner;
  if (meta === undefined) throw new DatabaseError("it is empty");
  if (scanner.pages < meta.pages)
    throw new DatabaseError(`it ends after ${scanner.pages} of ${meta.pages} pages`);
  const walk = new Walk(scanner, meta.pages);
  const buckets: BucketEntry[] = [];
  walk.leaves(meta.root, (_, page) => {
    const list = page === undefined ? undefined : scanner.buckets.get(page);
    if (list === undefined) throw new DatabaseError(`page ${page} should list the buckets and does not`);
    buckets.push(...list);
  });
  let totalEntries = 0;
  let own: Marks = {};
  let auth: Marks = {};
  let keyLeaves: readonly PageSummary[] = [];
  for (const { name, root, marks: inline } of buckets) {
    const leaves: PageSummary[] = [];
    let marks: Marks = { ...inline };
    walk.leaves(root, (leaf, page) => {
      totalEntries += leaf.count;
      if (leaf.count > 0) leaves.push(leaf);
      if (page !== undefined) marks = { ...marks, ...scanner.marks.get(page) };
    });
    if (name === "meta") own = marks;
    if (name === "auth") auth = marks;
    if (name === "key") keyLeaves = leaves;
  }
  return {
    size: meta.pages * meta.pageSize,
    revision: latestRevision(scanner, keyLeaves),
    totalKeys: countKeys(scanner, keyLeaves),
    totalEntries,
    storageVersion: own.storageVersion,
    ...(auth.authRevision !== undefined && {
      authRevision: auth.authRevision,
      authEnabled: auth.authEnabled ?? false,
    }),
    ...(own.compactRevision !== undefined && { compactRevision: own.compactRevision }),
  };
}

class Walk {
  readonly #scanner: PageScanner;
  readonly #seen: Uint8Array;

  constructor(scanner: PageScanner, pages: number) {
    this.#scanner = scanner;
    this.#seen = new Uint8Array(pages);
  }

  /** Every leaf below a root, in the order of keys. */
  leaves(
    root: number | PageSummary,
    visit: (leaf: PageSummary, page: number | undefined) => void,
    depth = 0,
  ): void {
    const page = typeof root === "number" ? root : undefined;
    const summary = typeof root === "number" ? this.#reach(root) : root;
    if (summary.kind === PageKind.absent || summary.kind === PageKind.damaged || depth > DEEPEST)
      throw new DatabaseError(
        `${page === undefined ? "an inline bucket" : `page ${page}`} is not a valid page of the database`,
      );
    if (summary.kind !== PageKind.branch) {
      visit(summary, page);
      return;
    }
    for (let i = 0; i < summary.count; i++)
      this.leaves(this.#scanner.numbers.get(summary.at + i), visit, depth + 1);
  }

  #reach(page: number): PageSummary {
    if (page < 2 || page >= this.#seen.length)
      throw new DatabaseError(`a reference leads to page ${page}, which the database does not have`);
    if (this.#seen[page] === 1) throw new DatabaseError(`two references lead to page ${page}`);
    this.#seen[page] = 1;
    return this.#scanner.summary(page);
  }
}

function isRevisions({ kind }: PageSummary): boolean {
  return kind === PageKind.keys || kind === PageKind.revisions;
}

function latestRevision(scanner: PageScanner, leaves: readonly PageSummary[]): number {
  if (!leaves.every(isRevisions)) throw new DatabaseError("the bucket of keys holds something else");
  const last = leaves.at(-1);
  if (last === undefined) return 0;
  const at = last.at + (last.kind === PageKind.keys ? 2 * last.count : 0);
  return scanner.numbers.get(at + 1) * 2 ** 32 + scanner.numbers.get(at);
}

/** From the latest record to the first: a key's latest one says whether it exists. */
function countKeys({ numbers }: PageScanner, leaves: readonly PageSummary[]): number | undefined {
  if (leaves.some(({ kind }) => kind === PageKind.revisions)) return undefined;
  const seen = new HashSet(leaves.reduce((sum, { count }) => sum + count, 0));
  let keys = 0;
  for (let i = leaves.length - 1; i >= 0; i--) {
    const { at, count } = leaves[i] as PageSummary;
    for (let record = count - 1; record >= 0; record--) {
      const low = numbers.get(at + 2 * record);
      if (seen.add(low >>> 1, numbers.get(at + 2 * record + 1)) && (low & 1) === 0) keys++;
    }
  }
  return keys;
}
