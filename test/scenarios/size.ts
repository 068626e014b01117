/** Scenarios of size: a cluster is made, grows, shrinks, sleeps and wakes. */
import assert from "node:assert/strict";
import { converged, idsOf, namesOf, readBack, until, written, type Scenario } from "./platform.ts";

const VERSION = "3.6.16";

export const create: Scenario = {
  name: "create",
  spec: { replicas: 3, version: VERSION },
  async run(platform) {
    const status = await converged(platform, 3);
    assert.equal(namesOf(status).length, 3);
    assert.equal(new Set(idsOf(status)).size, 3);
    assert.equal(status.members?.filter(({ role }) => role === "Leader").length, 1);
    await written(platform, "k", "v");
    assert.equal(await readBack(platform, "k"), "v");
  },
};

export const scale: Scenario = {
  name: "scale out and in",
  spec: { replicas: 1, version: VERSION },
  async run(platform) {
    await converged(platform, 1);
    await written(platform, "k", "v");
    await platform.edit({ replicas: 3 });
    const three = await converged(platform, 3);
    assert.equal(await readBack(platform, "k"), "v");
    await platform.edit({ replicas: 1 });
    const one = await converged(platform, 1);
    assert.ok(namesOf(three).includes(namesOf(one)[0] ?? ""), "one of the three stays");
    assert.equal(await readBack(platform, "k"), "v");
  },
};

export const hibernate: Scenario = {
  name: "hibernate and wake",
  spec: { replicas: 3, version: VERSION },
  async run(platform) {
    const before = await converged(platform, 3);
    await written(platform, "k", "v");
    await platform.edit({ replicas: 0 });
    await until(platform, "it is hibernated", ({ conditions }) =>
      (conditions ?? []).some(({ type, reason }) => type === "Ready" && reason === "Hibernated"),
    );
    await platform.edit({ replicas: 3 });
    const after = await converged(platform, 3);
    assert.deepEqual(idsOf(after), idsOf(before), "every member comes back as itself (H5)");
    assert.equal(await readBack(platform, "k"), "v");
  },
};
