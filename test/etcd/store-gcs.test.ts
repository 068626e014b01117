/** Google Cloud Storage, on a server that speaks its protocol: objects, and a cluster that is restored from there. */
import { test } from "node:test";
import { systemClock } from "../../src/seams/clock.ts";
import { systemRandom } from "../../src/seams/random.ts";
import { openGcsStore } from "../../src/snapshot/store/gcs/gcs.ts";
import { startGcs } from "../support/fake-gcs-server.ts";
import { keepsObjects, restoredVersions, survivesInStore } from "../support/store-scenario.ts";

test("a server of Google Cloud Storage's protocol keeps what it is given, and a cluster is restored from it", async (t) => {
  await using server = await startGcs({ buckets: ["objects", "backups"] });
  const { endpoint, env } = server;
  const around = { env, clock: systemClock, random: systemRandom, prefix: "pre/" };
  const open = (bucket: string) => openGcsStore({ ...around, bucket, gcs: {} });
  await t.test("objects", async () => await keepsObjects(open("objects"), open("nowhere")));
  for (const version of restoredVersions)
    await t.test(
      `etcd ${version}: a cluster that is deleted is restored with keys, leases and users`,
      async () => {
        const sourceOf = (object: string) => ({
          gcs: { bucket: "backups", key: `prod/${object}`, endpoint },
        });
        const store = openGcsStore({ ...around, bucket: "backups", prefix: "prod/", gcs: {} });
        await survivesInStore(version, { folder: "gs://backups/prod/", store, env, sourceOf });
      },
    );
});
