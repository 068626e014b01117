/** Azure Blob Storage, on Microsoft's own emulator: objects, and a cluster that is restored from there. */
import { test } from "node:test";
import { systemClock } from "../../src/seams/clock.ts";
import { systemRandom } from "../../src/seams/random.ts";
import { openAzureStore } from "../../src/snapshot/store/azure/azure.ts";
import { ACCOUNT, startAzurite } from "../support/azurite.ts";
import { keepsObjects, restoredVersions, survivesInStore } from "../support/store-scenario.ts";

test("Azurite keeps what it is given, and a cluster is restored from it", async (t) => {
  await using server = await startAzurite({ containers: ["objects", "backups"] });
  const { endpoint, env } = server;
  const around = { env, clock: systemClock, random: systemRandom, prefix: "pre/" };
  const open = (container: string) => openAzureStore({ ...around, container, azure: {} });
  await t.test("objects", async () => await keepsObjects(open("objects"), open("nowhere")));
  for (const version of restoredVersions)
    await t.test(
      `etcd ${version}: a cluster that is deleted is restored with keys, leases and users`,
      async () => {
        const sourceOf = (object: string) => ({
          azure: { account: ACCOUNT, container: "backups", key: `prod/${object}`, endpoint },
        });
        const store = openAzureStore({ ...around, container: "backups", prefix: "prod/", azure: {} });
        await survivesInStore(version, { folder: "azblob://backups/prod/", store, env, sourceOf });
      },
    );
});
