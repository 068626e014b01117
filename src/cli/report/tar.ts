/** A tar archive (POSIX ustar) of small texts, compressed: what every system can unpack. */
import { gzipSync } from "node:zlib";

export interface ArchiveFile {
  /** At most 100 bytes, with slashes. */
  readonly path: string;
  readonly text: string;
}

const BLOCK = 512;

export function tarGz(files: readonly ArchiveFile[], modifiedAt: number): Buffer {
  const blocks = files.flatMap(({ path, text }) => {
    const content = Buffer.from(text);
    const padding = Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK);
    return [headerOf(path, content.length, modifiedAt), content, padding];
  });
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]));
}

function headerOf(path: string, size: number, modifiedAt: number): Buffer {
  if (Buffer.byteLength(path) > 100) throw new RangeError(`${path}: too long for a tar archive`);
  const header = Buffer.alloc(BLOCK);
  const octal = (value: number, length: number) => `${value.toString(8).padStart(length - 1, "0")}\0`;
  header.write(path, 0);
  header.write(octal(0o600, 8), 100);
  header.write(octal(0, 8), 108);
  header.write(octal(0, 8), 116);
  header.write(octal(size, 12), 124);
  header.write(octal(Math.floor(modifiedAt / 1_000), 12), 136);
  header.write(" ".repeat(8), 148);
  header.write("0", 156);
  header.write("ustar\x0000", 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return header;
}
