/** How long writes stand still while a minor version is rolled, beside members restarted by hand. */
import { Checker } from "../support/checker.ts";
import { EtcdStore } from "../support/checker-store.ts";
import { etcdOf, type TestCluster } from "../support/etcd-cluster.ts";
import { LocalChecker } from "../support/local-checker.ts";
import { LocalCluster } from "../support/local-cluster.ts";
import { measure, tellLoad } from "./measure.ts";
import { startThree } from "./plain-etcd.ts";

const [FROM, TO] = ["3.6.16", "3.7.3"];

await Promise.all([FROM, TO].map(etcdOf));
tellLoad();
await measure({
  what: `longest time without a write from ${FROM} to ${TO}`,
  unit: "ms",
  goal: 1_000,
  run: async () => {
    await using local = await LocalCluster.start({
      version: FROM,
      replicas: 3,
      tls: { mode: "Managed" },
      update: { canary: false },
    });
    await using checker = await LocalChecker.start(local);
    await local.edit({ version: TO });
    await local.settled(60_000);
    return (await checker.stop()).longestWriteGapMs;
  },
  reference: {
    what: "plain members stopped and started with the new version one after another",
    run: async () => {
      await using cluster = await startThree(FROM);
      const store = new EtcdStore({ transport: cluster.transport(), endpoints: cluster.endpoints });
      const checker = await Checker.start(store);
      await rollByHand(cluster);
      return (await checker.stop()).longestWriteGapMs;
    },
  },
});

async function rollByHand(cluster: TestCluster): Promise<void> {
  for (const member of cluster.members) {
    await member.running.stop();
    member.version = TO;
    await cluster.restart(member);
  }
}
