/**
 * Puts a note into a 64-bit little-endian ELF executable, where Node looks for the program of a single executable
 * application (postject's place and form), and reads it back. The note and a longer table of program headers are
 * appended in a segment of their own, so that nothing that was there moves.
 */

const HEADER = { class: 4, data: 5, machine: 18, phoff: 32, phentsize: 54, phnum: 56, size: 64 } as const;
const PHDR = {
  type: 0,
  flags: 4,
  offset: 8,
  vaddr: 16,
  paddr: 24,
  filesz: 32,
  memsz: 40,
  align: 48,
} as const;
const PHDR_BYTES = 56;
const PT = { LOAD: 1, NOTE: 4, PHDR: 6 } as const;
const READ_ONLY = 4;
/** The largest page of any Linux that Node runs on (arm64 has kernels with 64 KiB). */
const PAGE = 0x1_00_00;

export type Machine = "x64" | "arm64";
const MACHINES: Readonly<Record<number, Machine>> = { 62: "x64", 183: "arm64" };

interface ProgramHeader {
  readonly type: number;
  readonly flags: number;
  readonly offset: number;
  readonly vaddr: number;
  readonly filesz: number;
  readonly memsz: number;
  readonly align: number;
}

export class ElfError extends Error {
  override name = "ElfError";
}

/** What the executable runs on. */
export function machineOf(elf: Buffer): Machine {
  if (elf.length < HEADER.size || elf.toString("latin1", 0, 4) !== "\u007fELF")
    throw new ElfError("not an ELF executable");
  if (elf[HEADER.class] !== 2 || elf[HEADER.data] !== 1) throw new ElfError("not 64-bit little-endian ELF");
  const machine = MACHINES[elf.readUInt16LE(HEADER.machine)];
  if (machine === undefined)
    throw new ElfError(`ELF machine ${elf.readUInt16LE(HEADER.machine)} is not supported`);
  return machine;
}

export function withNote(elf: Buffer, name: string, content: Buffer): Buffer {
  machineOf(elf);
  const headers = programHeaders(elf);
  const loads = headers.filter(({ type }) => type === PT.LOAD);
  const [first] = loads;
  if (first === undefined) throw new ElfError("no loadable segment");
  // Kernels before 5.18 tell a program that its headers are at <first address> + <their offset in the file>, so the
  // new segment has to be as far from the first one in memory as in the file; and it has to come after all others.
  const distance = first.vaddr - first.offset;
  const end = Math.max(...loads.map(({ vaddr, memsz }) => vaddr + memsz));
  const offset = roundUp(Math.max(elf.length, end - distance), PAGE);
  const vaddr = offset + distance;

  const note = encodeNote(name, content);
  const tableBytes = (headers.length + 2) * PHDR_BYTES;
  const noteAt = roundUp(tableBytes, 4);
  const bytes = noteAt + note.length;
  const segment = { flags: READ_ONLY, offset, vaddr, filesz: bytes, memsz: bytes };
  const table = [
    ...headers.map((one) =>
      one.type === PT.PHDR ? { ...one, offset, vaddr, filesz: tableBytes, memsz: tableBytes } : one,
    ),
    { ...segment, type: PT.LOAD, align: PAGE },
    {
      ...segment,
      type: PT.NOTE,
      offset: offset + noteAt,
      vaddr: vaddr + noteAt,
      filesz: note.length,
      memsz: note.length,
      align: 4,
    },
  ];
  const result = Buffer.alloc(offset + bytes);
  elf.copy(result);
  for (const [index, header] of table.entries()) writeHeader(result, offset + index * PHDR_BYTES, header);
  note.copy(result, offset + noteAt);
  result.writeBigUInt64LE(BigInt(offset), HEADER.phoff);
  result.writeUInt16LE(table.length, HEADER.phnum);
  return result;
}

/** The content of the note of that name, found as a running program finds it: by its program headers. */
export function noteOf(elf: Buffer, name: string): Buffer | undefined {
  for (const { type, offset, filesz } of programHeaders(elf)) {
    if (type !== PT.NOTE) continue;
    for (let at = offset; at + 12 <= offset + filesz;) {
      const [nameBytes, contentBytes] = [elf.readUInt32LE(at), elf.readUInt32LE(at + 4)];
      const contentAt = at + 12 + roundUp(nameBytes, 4);
      if (elf.toString("latin1", at + 12, at + 12 + nameBytes) === `${name}\0`)
        return elf.subarray(contentAt, contentAt + contentBytes);
      at = contentAt + roundUp(contentBytes, 4);
    }
  }
  return undefined;
}

function encodeNote(name: string, content: Buffer): Buffer {
  const named = Buffer.from(`${name}\0`, "latin1");
  const contentAt = 12 + roundUp(named.length, 4);
  const note = Buffer.alloc(contentAt + roundUp(content.length, 4));
  note.writeUInt32LE(named.length, 0);
  note.writeUInt32LE(content.length, 4);
  named.copy(note, 12);
  content.copy(note, contentAt);
  return note;
}

function programHeaders(elf: Buffer): ProgramHeader[] {
  if (elf.readUInt16LE(HEADER.phentsize) !== PHDR_BYTES)
    throw new ElfError("program headers of another size than 56 bytes");
  const table = number(elf, HEADER.phoff);
  return Array.from({ length: elf.readUInt16LE(HEADER.phnum) }, (_, index) => {
    const at = table + index * PHDR_BYTES;
    return {
      type: elf.readUInt32LE(at + PHDR.type),
      flags: elf.readUInt32LE(at + PHDR.flags),
      offset: number(elf, at + PHDR.offset),
      vaddr: number(elf, at + PHDR.vaddr),
      filesz: number(elf, at + PHDR.filesz),
      memsz: number(elf, at + PHDR.memsz),
      align: number(elf, at + PHDR.align),
    };
  });
}

function writeHeader(elf: Buffer, at: number, header: ProgramHeader): void {
  elf.writeUInt32LE(header.type, at + PHDR.type);
  elf.writeUInt32LE(header.flags, at + PHDR.flags);
  const { offset, vaddr, filesz, memsz, align } = header;
  for (const [field, value] of Object.entries({ offset, vaddr, paddr: vaddr, filesz, memsz, align }))
    elf.writeBigUInt64LE(BigInt(value), at + PHDR[field as keyof typeof PHDR]);
}

function number(elf: Buffer, at: number): number {
  return Number(elf.readBigUInt64LE(at));
}

function roundUp(value: number, to: number): number {
  return Math.ceil(value / to) * to;
}
