import assert from "node:assert/strict";
import { test } from "node:test";
import { tableWidthOf, widthOf } from "./output.ts";
import { collectingIo } from "./testing.ts";

test("tables fit a terminal, and are not cut elsewhere; sentences are wrapped in both", () => {
  const piped = collectingIo();
  assert.deepEqual([widthOf(piped), tableWidthOf(piped)], [100, Infinity]);
  const terminal = (columns: number) => collectingIo({ stdout: { write: () => undefined, columns } });
  assert.deepEqual([widthOf(terminal(180)), tableWidthOf(terminal(180))], [180, 180]);
  assert.deepEqual([widthOf(terminal(20)), tableWidthOf(terminal(20))], [60, 60]);
});
