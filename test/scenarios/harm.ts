/** Scenarios of harm: what is healed, and what is reported when it cannot be. */
import assert from "node:assert/strict";
import { converged, idsOf, namesOf, readBack, says, until, written, type Scenario } from "./platform.ts";

const THREE = { replicas: 3, version: "3.6.16" } as const;

export const replace: Scenario = {
  name: "replace a member that lost its data",
  spec: THREE,
  async run(platform) {
    const before = await converged(platform, 3);
    await written(platform, "k", "v");
    const [victim = ""] = namesOf(before);
    await platform.wipe(victim);
    await until(platform, `${victim} is gone`, (status) => !namesOf(status).includes(victim));
    const after = await converged(platform, 3);
    assert.equal(idsOf(after).filter((id) => idsOf(before).includes(id)).length, 2, "the others stay (R7)");
    assert.equal(await readBack(platform, "k"), "v");
  },
};

export const outage: Scenario = {
  name: "a total outage",
  spec: THREE,
  async run(platform) {
    const before = await converged(platform, 3);
    await written(platform, "k", "v");
    await Promise.all(namesOf(before).map((name) => platform.kill(name)));
    assert.equal(await readBack(platform, "k"), "v");
    const after = await converged(platform, 3);
    assert.deepEqual(idsOf(after), idsOf(before), "nobody was replaced");
    await written(platform, "k", "w");
  },
};

export const quorumLoss: Scenario = {
  name: "quorum lost for good",
  spec: THREE,
  async run(platform) {
    const before = await converged(platform, 3);
    await written(platform, "k", "v");
    const [one = "", two = ""] = namesOf(before);
    await Promise.all([platform.wipe(one), platform.wipe(two)]);
    await says(platform, "Quorate", "False");
    await says(platform, "Available", "False");
    // The look during which they were lost may still have found the third one serving; the next one may not.
    await until(platform, "nobody serves", ({ readyReplicas }) => readyReplicas === 0);
    // It goes on saying so: no empty cluster takes the place of the data (I3), and the copy that is left stays.
    for (let i = 0; i < 20; i++) await platform.moment();
    const after = await says(platform, "Quorate", "False");
    assert.deepEqual(namesOf(after), namesOf(before));
    assert.equal(after.clusterID, before.clusterID);
    assert.equal(after.readyReplicas, 0);
  },
};
