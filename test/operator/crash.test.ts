/**
 * The operator killed right after an effect, at points spread over each operation, and followed by another: the cluster
 * comes out the same. `npm run e2e -- --all` kills it after every effect.
 */
import assert from "node:assert/strict";
import { after, before, test, type TestContext } from "node:test";
import { claimName } from "../../src/operator/names.ts";
import { eventually } from "../../testbed/eventually.ts";
import { faults, type Faults } from "../../testbed/faults.ts";
import type { TestTestbed } from "../../testbed/for-tests.ts";
import { crashTasks, present } from "../support/crash-tasks.ts";
import { PATHS } from "../support/kube-paths.ts";
import { ClusterOnBed, upWithDefinitions } from "../support/operator.ts";
import { OperatorLives } from "../support/operator-lives.ts";
import { EVERY_CASE } from "../support/sample.ts";

let bed: TestTestbed;
let fault: Faults;
let lives: OperatorLives;

before(async () => {
  bed = await upWithDefinitions();
  fault = faults(bed.name);
  lives = new OperatorLives(bed.kubeconfig);
});

after(async () => {
  lives?.end();
  await bed?.down();
});

interface Operation {
  /** Makes the cluster that the operation begins with; the operator is alive. */
  prepare?(cluster: ClusterOnBed): Promise<void>;
  begin(cluster: ClusterOnBed): Promise<void>;
  judge(cluster: ClusterOnBed): Promise<void>;
}

/** Runs the operation to its end by operators of which the first dies after `point` effects; tells how many there were. */
async function survive(name: string, operation: Operation, point: number): Promise<number> {
  const cluster = new ClusterOnBed(bed, name);
  if (operation.prepare) {
    const steady = lives.live(0);
    await operation.prepare(cluster);
    await steady.stop();
  }
  const effects = await interrupted(cluster, operation, point);
  await cluster.assertSound((await cluster.members()).length);
  const members = await cluster.list(PATHS.members);
  // A claim that was deleted is gone when the server's controller has let go of it.
  await eventually("one volume for each member", async () => {
    assert.deepEqual(await cluster.list(PATHS.claims), members.map(claimName));
    return true;
  });
  assert.deepEqual(await cluster.list(PATHS.pods), members);
  await cluster.close();
  await remove(cluster);
  return effects.length;
}

/** From its begin to its end, by an operator that dies after `point` effects, and by another one: what the first did. */
async function interrupted(
  cluster: ClusterOnBed,
  operation: Pick<Operation, "begin" | "judge">,
  point: number,
): Promise<readonly string[]> {
  const mortal = lives.live(point);
  await operation.begin(cluster);
  const isOver = operation.judge(cluster).then(() => false);
  isOver.catch(() => undefined);
  const died = await Promise.race([mortal.ended, isOver]);
  if (died) {
    const next = lives.live(0);
    await isOver;
    await next.stop();
  } else await mortal.stop();
  return mortal.effects;
}

async function remove(cluster: ClusterOnBed): Promise<void> {
  const last = lives.live(0);
  await cluster.edit({ storage: { retention: { onDelete: "Delete" } } });
  await cluster.delete();
  await cluster.gone(`${PATHS.clusters}/${cluster.name}`);
  await last.stop();
}

/** After every effect, or after some of them that are spread over the whole operation. */
async function enumerate(
  t: TestContext,
  name: string,
  operation: Operation,
  points: readonly number[],
): Promise<void> {
  const every = EVERY_CASE ? Array.from({ length: 200 }, (_, i) => i + 1) : points;
  for (const point of every) {
    const effects = await survive(`${name}-${point}`, operation, point);
    t.diagnostic(`killed after effect ${point}${effects < point ? `: there were only ${effects}` : ""}`);
    if (effects < point) return;
  }
}

test("killed while a cluster is created", { timeout: 3_600_000 }, async (t) => {
  await enumerate(
    t,
    "create",
    {
      begin: (cluster) => cluster.create({ replicas: 3 }),
      judge: async (cluster) => void (await cluster.converged(3)),
    },
    [9],
  );
});

test("killed while a cluster grows", { timeout: 3_600_000 }, async (t) => {
  await enumerate(
    t,
    "grow",
    {
      async prepare(cluster) {
        await cluster.create({ replicas: 1 });
        await cluster.converged(1);
      },
      begin: (cluster) => cluster.edit({ replicas: 3 }),
      judge: async (cluster) => void (await cluster.converged(3)),
    },
    [9],
  );
});

test("killed while a member that lost its data is replaced", { timeout: 3_600_000 }, async (t) => {
  await enumerate(
    t,
    "replace",
    {
      async prepare(cluster) {
        await cluster.create({ replicas: 3 });
        await cluster.converged(3);
      },
      begin: (cluster) => fault.loseVolume("default", `${cluster.name}-2`, "data"),
      async judge(cluster) {
        await eventually(
          "the other one is there",
          async () => (await cluster.list(PATHS.members)).includes(`${cluster.name}-4`),
          { withinMs: 120_000 },
        );
        await cluster.converged(3);
      },
    },
    [6],
  );
});

test("killed while a cluster is upgraded", { timeout: 3_600_000 }, async (t) => {
  await enumerate(
    t,
    "upgrade",
    {
      async prepare(cluster) {
        await cluster.create({ replicas: 3, version: "3.6.14" });
        await cluster.converged(3);
      },
      begin: (cluster) => cluster.edit({ version: "3.6.16" }),
      async judge(cluster) {
        const status = await cluster.converged(3);
        assert.equal(status.version?.current, "3.6.16");
      },
    },
    [7],
  );
});

test("killed while an EtcdOperation is carried out", { timeout: 3_600_000 }, async (t) => {
  const cluster = new ClusterOnBed(bed, "again");
  const steady = lives.live(0);
  await cluster.create({ replicas: 3, repair: { maxReplacementsPerHour: 60 } });
  await cluster.converged(3);
  await steady.stop();
  for (const [name, { points, task, judge }] of crashTasks) {
    for (const point of EVERY_CASE ? Array.from({ length: 200 }, (_, i) => i + 1) : points) {
      const before = { ...(await present(bed, cluster)), task: await task(cluster) };
      const asked = `${name.toLowerCase()}-${point}`;
      const effects = await interrupted(
        cluster,
        {
          begin: () => cluster.ask(asked, before.task),
          async judge() {
            const status = await cluster.operationIs(asked, "Succeeded");
            await cluster.converged(3);
            await judge({ cluster, status, before, after: await present(bed, cluster) });
          },
        },
        point,
      );
      await cluster.assertSound(3);
      t.diagnostic(`${name} killed after ${effects.length} effects: ${effects.at(-1)}`);
      if (effects.length < point) break;
    }
  }
  await cluster.close();
  await remove(cluster);
});

test(
  "killed while authentication is enabled, and while it is disabled",
  { timeout: 3_600_000 },
  async (t) => {
    const cluster = new ClusterOnBed(bed, "auth");
    const steady = lives.live(0);
    await cluster.create({ replicas: 3 });
    await cluster.converged(3);
    await steady.stop();
    const change = async (enabled: boolean, point: number) =>
      await interrupted(
        cluster,
        {
          // With the role of root, what judges the cluster may still look at all of it.
          begin: () => cluster.edit({ auth: { enabled, clientRoles: ["root"] } }),
          async judge() {
            await eventually(
              `etcd's authentication is ${enabled ? "on" : "off"}, and reported so`,
              async () => {
                const status = await (await cluster.etcd()).auth.status();
                const reason = await cluster.condition("AuthReady");
                return status.enabled === enabled && (reason === "True/Enabled") === enabled;
              },
              { withinMs: 120_000 },
            );
            await cluster.converged(3);
          },
        },
        point,
      );
    for (const point of EVERY_CASE ? Array.from({ length: 200 }, (_, i) => i + 1) : [4]) {
      const on = await change(true, point);
      await cluster.assertSound(3);
      const off = await change(false, point);
      await cluster.assertSound(3);
      t.diagnostic(
        `killed after effect ${point} of ${on.length} and ${off.length}: ${on.at(-1)}, ${off.at(-1)}`,
      );
      if (Math.max(on.length, off.length) < point) break;
    }
    await cluster.close();
    await remove(cluster);
  },
);
