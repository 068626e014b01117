/** S3, on a server that speaks its protocol: objects, and a cluster that is restored from there. */
import { test } from "node:test";
import { systemClock } from "../../src/seams/clock.ts";
import { systemRandom } from "../../src/seams/random.ts";
import { openS3Store } from "../../src/snapshot/store/s3/s3.ts";
import { keepsObjects, restoredVersions, survivesInStore } from "../support/store-scenario.ts";
import { S3Server } from "../support/versitygw.ts";

test("a server of S3's protocol keeps what it is given, and a cluster is restored from it", async (t) => {
  await using server = await S3Server.start({ buckets: ["objects", "backups"] });
  const { endpoint, env } = server;
  const around = { env, clock: systemClock, random: systemRandom, prefix: "pre/" };
  const open = (bucket: string) => openS3Store({ ...around, bucket, s3: {} });
  await t.test("objects", async () => await keepsObjects(open("objects"), open("nowhere")));
  for (const version of restoredVersions)
    await t.test(
      `etcd ${version}: a cluster that is deleted is restored with keys, leases and users`,
      async () => {
        const sourceOf = (object: string) => ({ s3: { bucket: "backups", key: `prod/${object}`, endpoint } });
        const store = openS3Store({ ...around, bucket: "backups", prefix: "prod/", s3: {} });
        await survivesInStore(version, { folder: "s3://backups/prod/", store, env, sourceOf });
      },
    );
});
