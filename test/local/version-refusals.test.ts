/**
 * Versions that are refused: in words that say why and what to do, with an exit code, and with nothing
 * changed, neither on the disk nor in the processes.
 */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { etcdOf } from "../support/etcd-cluster.ts";
import { Home } from "../support/quorate.ts";

const NEW_CLUSTERS = [
  ["a new cluster on 3.4", "3.4.23", /3\.4 is end of life, so no new cluster/],
  [
    "a new cluster below the floor of 3.5",
    "3.5.16",
    /faults that can lose data; the oldest 3\.5 .* 3\.5\.26/,
  ],
  ["a new cluster below the floor of 3.6", "3.6.5", /the oldest 3\.6 for a new cluster is 3\.6\.11/],
  ["a new cluster of an unknown minor", "3.9.1", /3\.9 is not supported/],
  [
    "a new cluster of a version that was never released",
    "3.6.99",
    /3\.6\.99 is not a version that can be installed/,
  ],
] as const;

for (const [what, version, reason] of NEW_CLUSTERS) {
  test(`${what} is refused, and nothing is made`, async () => {
    await using home = new Home();
    const { code, stderr } = await home.run("local", "up", "--version", version);
    assert.notEqual(code, 0);
    assert.match(stderr, reason);
    assert.deepEqual(readdirSync(home.dir), []);
  });
}

const CHANGES = [
  ["an unknown minor", "3.9.1", /3\.9/],
  [
    "a downgrade over two minors",
    "3.5.35",
    /one minor version at a time, and 3\.7 to 3\.5 is 2\. Set spec\.version to 3\.6\.16 first/,
  ],
  ["a downgrade below the floor of 3.6", "3.6.5", /3\.6\.5/],
  ["a version that was never released", "3.7.99", /3\.7\.99 is not a version that can be installed/],
  ["no version at all", "latest", /latest/],
] as const;

test("changes of the version that cannot be are refused with the reason, and nothing changes", async (t) => {
  await Promise.all(["3.7.3", "3.5.35"].map(etcdOf));
  await using home = new Home();
  const up = home.up("--version", "3.7.3", "--replicas", "1");
  await up.settled();
  const files = () => {
    const dir = home.clusterDir();
    return ["cluster.json", "members/etcd-1.json", "run/etcd-1.json", "config/etcd-1.yaml"].map((file) =>
      readFileSync(`${dir}/${file}`, "utf8"),
    );
  };
  const before = files();
  const steps = () => up.events.filter(({ event }) => event === "step").length;
  const done = steps();
  for (const [what, version, reason] of CHANGES) {
    await t.test(what, async () => {
      const { code, stderr } = await home.run("local", "upgrade", version);
      assert.notEqual(code, 0);
      assert.match(stderr, reason);
      assert.deepEqual(files(), before);
    });
  }
  assert.equal(steps(), done);
});
