import assert from "node:assert/strict";
import { test } from "node:test";
import { ElfError, machineOf, noteOf, withNote } from "./elf.ts";

/** A header, a table of its own PT_PHDR and one PT_LOAD with a bss of 1 MiB beyond the file, and some content. */
function executable(machine: number): Buffer {
  const elf = Buffer.alloc(4096, "text");
  elf.fill(0, 0, 64 + 2 * 56);
  elf.write("\u007fELF", 0, "latin1");
  elf.set([2, 1, 1], 4);
  elf.writeUInt16LE(2, 16);
  elf.writeUInt16LE(machine, 18);
  elf.writeBigUInt64LE(64n, 32);
  elf.writeUInt16LE(56, 54);
  elf.writeUInt16LE(2, 56);
  const header = (at: number, type: number, fields: readonly [number, number, number, number]) => {
    elf.writeUInt32LE(type, at);
    const [offset, vaddr, filesz, memsz] = fields;
    for (const [index, value] of [offset, vaddr, vaddr, filesz, memsz, 8].entries())
      elf.writeBigUInt64LE(BigInt(value), at + 8 + index * 8);
  };
  header(64, 6, [64, 0x40_00_40, 112, 112]);
  header(120, 1, [0, 0x40_00_00, 4096, 1 << 20]);
  return elf;
}

const AARCH64 = 183;

test("a note is found by the program headers, and all that was there stays where it was", () => {
  const before = executable(AARCH64);
  const content = Buffer.from("the program");
  const after = withNote(before, "NODE_SEA_BLOB", content);
  assert.equal(machineOf(after), "arm64");
  assert.deepEqual(noteOf(after, "NODE_SEA_BLOB"), content);
  assert.equal(noteOf(after, "ANOTHER"), undefined);
  assert.equal(noteOf(before, "NODE_SEA_BLOB"), undefined);
  // But for where the table is and how long it is.
  assert.deepEqual(after.subarray(64, before.length), before.subarray(64));
});

test("the new segment lies beyond every other in memory, as far from the first as in the file", () => {
  const after = withNote(executable(AARCH64), "N", Buffer.from("x"));
  const table = Number(after.readBigUInt64LE(32));
  assert.equal(after.readUInt16LE(56), 4);
  const [offset, vaddr] = [8, 16].map((field) => Number(after.readBigUInt64LE(table + 2 * 56 + field)));
  assert.equal(offset, table);
  assert.equal(vaddr! - 0x40_00_00, offset, "old kernels compute where the table is from this");
  assert.ok(vaddr! >= 0x40_00_00 + (1 << 20), "not over what the program has in memory only");
  assert.equal(offset! % 0x1_00_00, 0);
  // The first entry says where the table is now.
  assert.equal(Number(after.readBigUInt64LE(table + 8)), table);
});

test("what is no executable of a known machine is rejected", () => {
  assert.throws(() => withNote(Buffer.from("#!/bin/sh\n"), "N", Buffer.from("x")), ElfError);
  assert.throws(() => machineOf(executable(8)), /ELF machine 8 is not supported/);
});
