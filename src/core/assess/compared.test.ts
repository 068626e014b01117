/** When a comparison of the copies is young enough. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { HashReport, Observation } from "../observation.ts";
import { scaleIn } from "../rules/scale-in.ts";
import { NOW, edit, healthy } from "../testing/cluster.ts";
import { says } from "../testing/says.ts";
import { viewOf } from "../view.ts";
import { needsComparison } from "./compared.ts";

const three = healthy();
const at = (o: Observation, ms: number): Observation => ({ ...o, now: NOW + ms });

const hashed = (o: Observation, hashes: HashReport | undefined): Observation => ({
  ...o,
  etcd: { ...o.etcd, hashes },
});

test("before a copy goes the comparison must be younger than five minutes, unless it is turned off", () => {
  const needs = (o: Observation) => needsComparison(viewOf(o));
  assert.equal(needs(at(three, 300_000)), false);
  assert.equal(needs(at(three, 300_001)), true);
  assert.equal(needs(hashed(three, undefined)), true);
  assert.equal(needs(at(healthy({ replicas: 2 }), 300_001)), true);
  assert.equal(needs(at(healthy({ replicas: 1 }), 300_001)), false);
  const off = edit(three, { maintenance: { hashCheck: { interval: "0s" } } });
  assert.equal(needs(at(off, 300_001)), false);
  assert.deepEqual(says(scaleIn, at(edit(three, { replicas: 2 }), 300_001)), ["shrink: compare hashes"]);
});
