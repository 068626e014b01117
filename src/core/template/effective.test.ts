import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { AuthorityFacts, Observation, Plane } from "../observation.ts";
import { viewOf } from "../view.ts";
import { change, healthy, edit } from "../testing/cluster.ts";
import { effective, needsTrust, trustOf } from "./effective.ts";
import { startHash, templateFor, templateHash } from "./template.ts";

const at = (facts: Partial<AuthorityFacts>): AuthorityFacts => ({
  current: "old",
  phase: "Steady",
  expiresAt: Infinity,
  rotateAt: Infinity,
  ...facts,
});

function withAuthorities(
  world: Observation,
  authorities: Partial<Record<Plane, AuthorityFacts>>,
): Observation {
  return { ...world, platform: { ...world.platform, authorities } };
}

const target = (world: Observation) =>
  effective(viewOf(world), templateFor(world.cluster.spec, world.cluster.spec.version));

/** Every record names these CAs. */
function trusting(world: Observation, trust: readonly string[]): Observation {
  return world.members.reduce(
    (seen, { record: { name } }) =>
      change(seen, name, (facts) => {
        const { template } = facts.record;
        const tls = { ...template.tls, effective: { client: { trust }, peer: { trust } } };
        return { ...facts, record: { ...facts.record, template: { ...template, tls } } };
      }),
    world,
  );
}

describe("which CAs members are to trust", () => {
  const world = healthy();

  test("before the first rotation none is named: templates and starts hash as ever", () => {
    const steady = withAuthorities(world, { client: at({}), peer: at({}) });
    const plain = templateFor(world.cluster.spec, world.cluster.spec.version);
    assert.equal(target(steady), plain);
    const { record } = world.members[0]!;
    assert.equal(templateHash(record.template), templateHash(plain));
    const started = (template: typeof plain) => startHash({ template, joined: true, initialCluster: [] });
    assert.equal(started(record.template), started(plain));
  });

  test("each phase of a rotation names its CAs, the older one first, so that a switch restarts nobody", () => {
    const seen = (peer: Partial<AuthorityFacts>) =>
      trustOf(target(withAuthorities(world, { peer: at(peer) })), "peer");
    assert.deepEqual(seen({ phase: "Bundle", other: "new" }), ["old", "new"]);
    assert.deepEqual(seen({ phase: "Reissue", current: "new", other: "old" }), ["old", "new"]);
    assert.deepEqual(seen({ phase: "Drop", current: "new", other: "old" }), ["new"]);
  });

  test("after a rotation the CA stays named", () => {
    const after = withAuthorities(trusting(world, ["new"]), {
      client: at({ current: "new" }),
      peer: at({ current: "new" }),
    });
    assert.deepEqual(trustOf(target(after), "peer"), ["new"]);
    assert.ok(target(after) === target(after), "the same answer is the same object");
  });

  test("while the CA cannot be read, members stay as they are", () => {
    assert.equal(trustOf(target(world), "peer"), undefined);
    assert.deepEqual(trustOf(target(trusting(world, ["old", "new"])), "client"), ["old", "new"]);
  });

  test("a server that asks clients for no certificate trusts none (R56)", () => {
    const open = edit(world, { tls: { clientAuth: "None" } });
    const rotating = withAuthorities(open, {
      client: at({ phase: "Bundle", other: "new" }),
      peer: at({ phase: "Bundle", other: "new" }),
    });
    assert.equal(trustOf(target(rotating), "client"), undefined);
    assert.deepEqual(trustOf(target(rotating), "peer"), ["old", "new"]);
    const plain = templateFor(open.cluster.spec, open.cluster.spec.version);
    assert.deepEqual([needsTrust(plain, "client"), needsTrust(plain, "peer")], [false, true]);
  });
});
