/** Scenarios of change: versions up and down, and members that move to another medium. */
import assert from "node:assert/strict";
import { converged, idsOf, namesOf, readBack, versionsOf, written, type Scenario } from "./platform.ts";

export const upgrade = changeOfVersion("upgrade", "3.5.35", "3.6.16");
export const downgrade = changeOfVersion("downgrade", "3.7.3", "3.6.16");

function changeOfVersion(name: string, from: string, to: string): Scenario {
  return {
    name,
    spec: { replicas: 3, version: from },
    async run(platform) {
      const before = await converged(platform, 3);
      await written(platform, "k", "v");
      await platform.edit({ version: to });
      const after = await converged(platform, 3);
      assert.deepEqual(versionsOf(after), [to, to, to]);
      assert.deepEqual(idsOf(after), idsOf(before));
      assert.equal(await readBack(platform, "k"), "v");
    },
  };
}

export const storage: Scenario = {
  name: "another storage medium",
  only: "kubernetes",
  spec: {
    replicas: 3,
    version: "3.6.16",
    storage: { medium: "Ephemeral", size: "1Gi" },
    options: { quotaBackendBytes: "64Mi" },
  },
  async run(platform) {
    const before = await converged(platform, 3);
    await written(platform, "k", "v");
    await platform.edit({ storage: { medium: "Persistent", size: "1Gi" } });
    const after = await converged(platform, 3);
    assert.deepEqual(
      namesOf(after).filter((name) => namesOf(before).includes(name)),
      [],
      "all moved through newcomers (H4)",
    );
    assert.equal(after.clusterID, before.clusterID);
    assert.equal(await readBack(platform, "k"), "v");
  },
};
