/** What holds for decide() on anything it can be shown: total, deterministic, one safe step at a time. */
import process from "node:process";
import { test } from "node:test";
import fc from "fast-check";
import { arbitraryObservation } from "./testing/arbitrary-observation.ts";
import { decideProperties } from "./testing/decide-properties.ts";

const IS_FAST = process.env["QUORATE_FAST"] === "1";
const RUNS = { numRuns: Number(process.env["PROPERTY_RUNS"] ?? (IS_FAST ? 400 : 1000)) };

for (const { title, check } of decideProperties)
  test(title, () => fc.assert(fc.property(arbitraryObservation, check), RUNS));
