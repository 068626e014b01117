/**
 * Breaks a member's database on purpose: flips one byte in a value of every page that holds keys. The file
 * stays readable and etcd starts with it, but its hash differs from its peers': the quiet kind of damage.
 */
import type { Disk } from "../seams/disk.ts";

const PAGE = 4096;
const HEADER = 16;
const ELEMENT = 16;
const LEAF = 0x02;
const BUCKET = 0x01;
/** A key of etcd's key bucket is a revision: eight bytes, an underscore, eight bytes. */
const REVISION_BYTES = 17;
const UNDERSCORE = 0x5f;
/** Far more than a database that somebody breaks for a drill has. */
const MOST_PAGES = 65_536;

/** How many pages were damaged; 0 when the database holds no keys yet. */
export async function corruptDatabase(disk: Disk, file: string): Promise<number> {
  const size = (await disk.stat(file))?.size ?? 0;
  let damaged = 0;
  for (let page = 2; page * PAGE < size && page < MOST_PAGES; page++) {
    const bytes = Buffer.from(await disk.readBytes(file, page * PAGE, PAGE));
    const target = valueIn(bytes, 0);
    if (target === undefined) continue;
    await disk.overwrite(file, page * PAGE + target, Uint8Array.of((bytes[target] ?? 0) ^ 0x01));
    damaged++;
  }
  return damaged;
}

/** The offset of the last byte of the last value of the key bucket in the leaf page that begins at `start`. */
function valueIn(page: Buffer, start: number): number | undefined {
  if (start + HEADER > page.length || (page.readUInt16LE(start + 8) & LEAF) === 0) return undefined;
  const count = page.readUInt16LE(start + 10);
  for (let index = count - 1; index >= 0; index--) {
    const element = start + HEADER + index * ELEMENT;
    if (element + ELEMENT > page.length) continue;
    const position = element + page.readUInt32LE(element + 4);
    const [keySize, valueSize] = [page.readUInt32LE(element + 8), page.readUInt32LE(element + 12)];
    const last = position + keySize + valueSize - 1;
    if (last >= page.length || valueSize === 0) continue;
    if (page.readUInt32LE(element) === BUCKET) {
      // A small bucket lies inside its parent's page, behind a header of its own.
      const inside = valueSize > HEADER ? valueIn(page, position + keySize + HEADER) : undefined;
      if (inside !== undefined) return inside;
    } else if (keySize === REVISION_BYTES && page[position + 8] === UNDERSCORE) return last;
  }
  return undefined;
}
