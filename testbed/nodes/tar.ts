/**
 * A writer of tar archives (ustar), enough for image layers: directories, files and symbolic links, in the
 * order given, without times, so that the same content gives the same digest.
 */
import { readFileSync } from "node:fs";

export type Entry =
  | { path: string; kind: "directory"; mode?: number }
  | { path: string; kind: "file"; content: Uint8Array | string; mode?: number }
  | { path: string; kind: "copy"; from: string; mode?: number }
  | { path: string; kind: "link"; to: string };

const BLOCK = 512;

export function tar(entries: Entry[]): Buffer {
  const parts: Buffer[] = [];
  for (const entry of entries) {
    const content = contentOf(entry);
    parts.push(header(entry, content.length), content);
    const rest = content.length % BLOCK;
    if (rest > 0) parts.push(Buffer.alloc(BLOCK - rest));
  }
  return Buffer.concat([...parts, Buffer.alloc(2 * BLOCK)]);
}

function contentOf(entry: Entry): Buffer {
  if (entry.kind === "file") return Buffer.from(entry.content as Uint8Array);
  return entry.kind === "copy" ? readFileSync(entry.from) : Buffer.alloc(0);
}

function header(entry: Entry, size: number): Buffer {
  const block = Buffer.alloc(BLOCK);
  const name = entry.kind === "directory" ? `${entry.path}/` : entry.path;
  if (Buffer.byteLength(name) > 100) throw new Error(`the path is too long for this tar: ${name}`);
  const octal = (value: number, at: number, length: number) =>
    block.write(value.toString(8).padStart(length - 1, "0"), at, "latin1");
  const type = { directory: "5", file: "0", copy: "0", link: "2" }[entry.kind];
  block.write(name, 0);
  octal("mode" in entry && entry.mode !== undefined ? entry.mode : 0o755, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(size, 124, 12);
  octal(0, 136, 12);
  block.write("        ", 148);
  block.write(type, 156);
  if (entry.kind === "link") block.write(entry.to, 157);
  block.write("ustar\0" + "00", 257, "latin1");
  octal(
    block.reduce((sum, byte) => sum + byte, 0),
    148,
    7,
  );
  return block;
}
