/**
 * The API server dies, hangs, or is out of reach while the operator works; and an operator that was thought dead comes
 * back. What was begun is finished once, by whoever leads.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { eventually } from "../../testbed/eventually.ts";
import type { TestTestbed } from "../../testbed/for-tests.ts";
import { bedPaths } from "../../testbed/paths.ts";
import { endOwned } from "../../testbed/processes.ts";
import { up } from "../../testbed/testbed.ts";
import { PATHS } from "../support/kube-paths.ts";
import { apiServerPid, configOf, relayTo } from "../support/kube-runtime.ts";
import {
  ClusterOnBed,
  isTold,
  startOneLife,
  startOperator,
  upWithDefinitions,
  writes,
  type Running,
} from "../support/operator.ts";
import { OperatorChecker } from "../support/operator-checker.ts";
import { OperatorProcess } from "../support/operator-process.ts";
import { EVERY_CASE } from "../support/sample.ts";

let bed: TestTestbed;

before(async () => {
  bed = await upWithDefinitions();
});

after(async () => {
  await bed?.down();
});

interface Outage {
  /** The changes that are tried with it unless every case is: one of each is enough for what an outage may break. */
  readonly sample: readonly string[];
  /** Ends with a server that answers. */
  readonly happens: () => Promise<void>;
}

const outages: Readonly<Record<string, Outage>> = {
  "is killed and started again": {
    sample: ["replaced"],
    happens: async () => {
      // With those that would otherwise back off from it for longer than anybody wants to wait here.
      const plane = ["kube-apiserver", "kube-scheduler", "kube-controller-manager"];
      await endOwned(bedPaths(bed.name).dir, ({ role }) => plane.includes(role));
      const again = await up({ name: bed.name, kubelet: "process", backoffMs: { first: 200, max: 2_000 } });
      again.client.close();
    },
  },
  // Less than the lease lasts: an operator that loses it ends, and its Pod begins afresh.
  "freezes for three seconds": {
    sample: ["rolled out"],
    happens: async () => {
      const pid = apiServerPid(bed);
      process.kill(pid, "SIGSTOP");
      await new Promise((resolve) => setTimeout(resolve, 3_000));
      process.kill(pid, "SIGCONT");
    },
  },
};

for (const [outage, { sample, happens }] of Object.entries(outages))
  describe(`the API server ${outage}`, () => {
    let running: Running;
    let cluster: ClusterOnBed;
    before(() => {
      running = startOperator(bed);
      cluster = new ClusterOnBed(bed, `demo-${Object.keys(outages).indexOf(outage)}`, running);
    });
    after(async () => {
      await cluster.delete();
      await cluster.gone(`${PATHS.clusters}/${cluster.name}`);
      await cluster.close();
      await running.stop();
    });

    /** What is asked for, then the outage as soon as the operator has begun with it. */
    async function during(ask: () => Promise<unknown>, replicas: number): Promise<void> {
      const from = running.steps.length;
      await ask();
      await eventually("it has begun", () => running.steps.length > from, { everyMs: 5 });
      await happens();
      await cluster.converged(replicas);
      await cluster.assertSound(replicas);
      await eventually("every cache is in step again", () => {
        const troubled = running.operator.caches().filter(({ synced, trouble }) => !synced || trouble);
        assert.deepEqual(troubled, []);
        return true;
      });
      assert.equal((await cluster.members()).length, replicas);
    }

    const changes: Readonly<Record<string, () => Promise<void>>> = {
      async "it shrinks and grows"() {
        await during(() => cluster.edit({ replicas: 1 }), 1);
        await during(() => cluster.edit({ replicas: 3 }), 3);
      },
      async "a member is replaced, under an application"() {
        await using checker = await OperatorChecker.start(cluster);
        const [name = ""] = await cluster.list(PATHS.members);
        await during(() => bed.client.delete(`${PATHS.members}/${name}`), 3);
        assert.ok(!(await cluster.list(PATHS.members)).includes(name));
        await checker.judged();
      },
      async "a version is rolled out, under an application"() {
        await using checker = await OperatorChecker.start(cluster);
        await during(() => cluster.edit({ version: "3.7.3" }), 3);
        const versions = (await cluster.members()).map(({ spec }) => spec.template.version);
        assert.deepEqual(versions, ["3.7.3", "3.7.3", "3.7.3"]);
        await checker.judged();
      },
    };

    test("while a cluster is made", () => during(() => cluster.create({ replicas: 3 }), 3));
    for (const [title, change] of Object.entries(changes))
      if (EVERY_CASE || sample.some((part) => title.includes(part))) test(`while ${title}`, change);
  });

test("H10: an operator that cannot reach the API server any more changes nothing, while another one does its work", async (t) => {
  const relay = await relayTo(bed.access.server);
  const first = startOneLife(bed, { config: configOf(bed, { server: relay.url }) });
  await eventually("the first leads", () => first.operator.leads);
  const second = startOperator(bed);
  const cluster = new ClusterOnBed(bed, "fenced", second);
  try {
    await cluster.create({ replicas: 1 });
    await cluster.converged(1);
    const before = first.steps.length;
    await cluster.edit({ replicas: 3 });
    await eventually(
      "the first adds a member",
      () => first.steps.some((step) => step.startsWith("AddLearner")),
      {
        everyMs: 5,
      },
    );
    relay.cut();
    const cutAt = Date.now();
    await eventually("the second leads", () => second.operator.leads);
    t.diagnostic(`taken over ${Date.now() - cutAt} ms after the cut`);
    const { length } = first.steps;
    await cluster.converged(3);
    await cluster.assertSound(3);
    assert.equal(first.steps.length, length, "not a step after the other one leads");
    assert.ok(length > before);
    const adds = [...first.steps, ...second.steps].filter((step) => /^AddLearner \S+$/.test(step));
    assert.ok(new Set(adds).size <= 2 && (await cluster.members()).length === 3, adds.join("; "));
    assert.ok(!first.operator.leads);
  } finally {
    await cluster.delete();
    await cluster.gone(`${PATHS.clusters}/fenced`);
    await cluster.close();
    relay.close();
    await Promise.all([first.stop().catch(() => undefined), second.stop()]);
  }
});

test("H10: an operator that was frozen while it led wakes up, sees that another leads, and changes nothing", async (t) => {
  const first = new OperatorProcess(bed, ["--lease-namespace", "default"]);
  let second: Running | undefined;
  const cluster = new ClusterOnBed(bed, "frozen");
  try {
    await first.leads();
    await cluster.create({ replicas: 1 });
    await cluster.converged(1);
    await cluster.edit({ replicas: 3 });
    await eventually("it works", async () => (await cluster.members()).length > 1, { everyMs: 5 });
    first.kill("SIGSTOP");
    const frozenAt = Date.now();
    second = startOperator(bed);
    const { operator, calls, steps } = second;
    await eventually("the second leads", () => operator.leads);
    t.diagnostic(`taken over ${Date.now() - frozenAt} ms after it froze`);
    await cluster.converged(3);
    const members = (await cluster.members()).map(
      ({ metadata, spec }) => `${metadata.name} ${spec.memberID}`,
    );
    first.kill("SIGCONT");
    // It ends by itself: whoever has lost the lease begins afresh.
    assert.notEqual(await first.ended(), 0);
    // What is reported members, in words that were not urgent, may come later.
    const changes = () => writes(calls).filter((call) => !isTold(call)).length + steps.length;
    const made = changes();
    await cluster.assertSound(3);
    assert.deepEqual(
      (await cluster.members()).map(({ metadata, spec }) => `${metadata.name} ${spec.memberID}`),
      members,
    );
    assert.equal(changes(), made, "nothing had to be put right");
  } finally {
    first.kill("SIGCONT");
    await first.end();
    await cluster.delete();
    if (second) await cluster.gone(`${PATHS.clusters}/frozen`);
    await cluster.close();
    await second?.stop();
  }
});
