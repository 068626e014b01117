import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { remedyOf, sentenceOf } from "../messages/table.ts";
import { RELEASES, releaseOf } from "./releases.ts";
import { startStep, versionStep, type VersionFacts } from "./upgrade.ts";
import { compareVersions, minorNumber, minorOf, version } from "./version.ts";

function facts(members: string[], more: Partial<VersionFacts> = {}): VersionFacts {
  return { members, clusterVersion: minorOf(members[0] ?? "3.6.0"), batchJoined: false, ...more };
}

/** Follows the steps as a cluster would, one settled version after another. */
function path(from: string, target: string): string[] {
  const hops: string[] = [];
  let at = from;
  for (let i = 0; i < 10 && at !== target; i++) {
    const step = versionStep(facts([at, at, at]), target);
    if (step.kind !== "run") return [...hops, step.kind];
    hops.push(step.to);
    at = step.to;
  }
  return hops;
}

test("a patch within a minor is one step, up or down", () => {
  assert.deepEqual(path("3.6.12", "3.6.16"), ["3.6.16"]);
  assert.deepEqual(path("3.6.16", "3.6.12"), ["3.6.12"]);
});

test("several minors are single steps through known-good patches (R10)", () => {
  assert.deepEqual(path("3.5.35", "3.7.3"), [releaseOf("3.6")?.knownGood, "3.7.3"]);
});

test("a patch below the floor is left before the minor is (R11)", () => {
  assert.deepEqual(path("3.5.16", "3.6.16"), [releaseOf("3.5")?.knownGood, "3.6.16"]);
  assert.deepEqual(path("3.6.8", "3.7.3"), [releaseOf("3.6")?.knownGood, "3.7.3"]);
});

test("3.4 is a source to upgrade from, not a version to start with", () => {
  assert.deepEqual(path("3.4.23", "3.6.16"), ["3.5.35", "3.6.16"]);
  assert.equal(startStep("3.4.45").kind, "refused");
});

test("every path ends at its target, crosses one minor at a time, and never leaves a minor below its floor", () => {
  const releases = fc
    .constantFrom(...RELEASES.filter((r) => r.startFloor).map((r) => r.minor))
    .chain((minor) =>
      fc
        .integer({ min: Number(releaseOf(minor)?.startFloor?.split(".")[2] ?? 0), max: 60 })
        .map((patch) => `${minor}.${patch}`),
    );
  fc.assert(
    fc.property(releases, releases, (from, target) => {
      if (minorNumber(target) < minorNumber(from)) return;
      const hops = path(from, target);
      let at = from;
      for (const hop of hops) {
        const distance = minorNumber(hop) - minorNumber(at);
        assert.ok(distance === 0 || distance === 1, `${at} → ${hop}`);
        const floor = releaseOf(minorOf(at))?.upgradeFloor;
        if (distance === 1 && floor)
          assert.ok(compareVersions(version(at), version(floor)) >= 0, `${at} → ${hop}`);
        at = hop;
      }
      assert.equal(at, target);
    }),
  );
});

test("while one old member remains, going back is a plain roll (R10)", () => {
  const mixed = facts(["3.6.16", "3.5.35", "3.5.35"], { clusterVersion: "3.5" });
  assert.deepEqual(versionStep(mixed, "3.5.35"), { kind: "run", to: "3.5.35", final: true });
});

test("the next minor waits until etcd's cluster version has moved", () => {
  const rolled = facts(["3.6.16", "3.6.16"], { clusterVersion: "3.5" });
  assert.deepEqual(versionStep(rolled, "3.7.3"), {
    kind: "run",
    to: "3.6.16",
    final: false,
    snapshots: "often",
  });
});

test("a downgrade is told to etcd first, then rolled (R15, H13)", () => {
  assert.deepEqual(versionStep(facts(["3.7.3"]), "3.6.16"), { kind: "enable-downgrade", to: "3.6.16" });
  const reported = facts(["3.7.3", "3.7.3"], { clusterVersion: "3.6", downgradeTarget: "3.6" });
  assert.deepEqual(versionStep(reported, "3.6.16"), { kind: "run", to: "3.6.16", final: true });
});

test("a downgrade that is not wanted any more is cancelled before anything else", () => {
  const reported = facts(["3.7.3", "3.6.16"], { clusterVersion: "3.6", downgradeTarget: "3.6" });
  assert.deepEqual(versionStep(reported, "3.7.3"), { kind: "cancel-downgrade" });
});

test("refusals give the reason and the way out", () => {
  const rows: [string, VersionFacts, string, RegExp, RegExp][] = [
    ["two minors down", facts(["3.7.3"]), "3.5.35", /one minor version at a time/, /3\.6\.16 first/],
    ["3.5 has no downgrade", facts(["3.5.35"]), "3.4.45", /cannot be downgraded while it runs/, /[Rr]estore/],
    [
      "after a batch join (H1)",
      facts(["3.6.16"], { batchJoined: true }),
      "3.5.35",
      /joined this cluster together/,
      /Stay on 3\.6/,
    ],
    ["below the floor", facts(["3.6.16"]), "3.5.16", /below the oldest safe 3\.5/, /3\.5\.26 or newer/],
    ["unknown minor", facts(["3.7.3"]), "3.9.0", /3\.9 is not supported/, /3\.5, 3\.6, 3\.7/],
    ["not a version", facts(["3.7.3"]), "latest", /not an etcd release/, /released version/],
  ];
  for (const [name, given, target, reason, next] of rows) {
    const step = versionStep(given, target);
    assert.equal(step.kind, "refused", name);
    if (step.kind === "refused") {
      assert.match(sentenceOf(step.why), reason, name);
      assert.match(remedyOf(step.why) ?? "", next, name);
    }
  }
});

test("a new cluster below a floor, of an unknown minor, or of no version at all is refused", () => {
  for (const target of ["3.5.16", "3.6.4", "3.8.0", "4.0.0", "nonsense"])
    assert.equal(startStep(target).kind, "refused", target);
  for (const target of ["3.5.35", "3.6.16", "3.7.3"]) assert.equal(startStep(target).kind, "run", target);
});

test("a patch below the safe floor is entered from nowhere; who is there already moves on upwards", () => {
  const to = (from: string, target: string) =>
    versionStep({ members: [from], clusterVersion: minorOf(from), batchJoined: false }, target);
  for (const [from, target] of [
    ["3.6.16", "3.6.10"],
    ["3.5.35", "3.6.10"],
    ["3.6.16", "3.5.20"],
    ["3.5.20", "3.5.19"],
  ] as const) {
    const step = to(from, target);
    assert.ok(step.kind === "refused", `${from} → ${target}`);
    assert.match(sentenceOf(step.why), /below the oldest safe/);
    assert.match(remedyOf(step.why) ?? "", /Set spec\.version to/);
  }
  for (const target of ["3.5.20", "3.5.21", "3.5.35"])
    assert.deepEqual(to("3.5.20", target), { kind: "run", to: target, final: true });
});
