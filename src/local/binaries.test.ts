import assert from "node:assert/strict";
import { test } from "node:test";
import { InstalledBinaries, versionsOnTheWay } from "./binaries.ts";

test("asking for a version installs it in the background, one after another, and failures are kept", async () => {
  const order: string[] = [];
  let changes = 0;
  const done = Promise.withResolvers<void>();
  const binaries = new InstalledBinaries(
    async (version) => {
      order.push(version);
      await Promise.resolve();
      if (version === "3.9.9") throw new Error("no such version");
      return `/bin/${version}`;
    },
    () => (++changes === 2 ? done.resolve() : undefined),
  );
  assert.equal(binaries.get("3.6.16").state, "installing");
  assert.equal(binaries.get("3.9.9").state, "installing");
  await done.promise;
  assert.deepEqual(order, ["3.6.16", "3.9.9"]);
  assert.deepEqual(binaries.get("3.6.16"), { state: "ready", etcd: "/bin/3.6.16" });
  assert.deepEqual(binaries.get("3.9.9"), { state: "failed", reason: "no such version" });
  binaries.forgetFailures();
  assert.equal(binaries.get("3.9.9").state, "installing");
});

test("an upgrade over several minors needs the known good patch of each between", () => {
  assert.deepEqual(versionsOnTheWay(["3.5.35"], "3.7.3"), ["3.5.35", "3.6.16", "3.7.3"]);
  assert.deepEqual(versionsOnTheWay(["3.6.16"], "3.6.16"), ["3.6.16"]);
  assert.deepEqual(versionsOnTheWay([], "3.6.16"), ["3.6.16"]);
});
