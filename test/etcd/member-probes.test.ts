/**
 * What Kubernetes asks of a member, on real etcd: it listens on IPv4 and IPv6 at once, and the paths that are
 * probed say what they are meant to say of voters, of learners, without a leader and under an alarm.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { request } from "node:http";
import { createServer } from "node:net";
import { describe, test } from "node:test";
import { specOf } from "../../src/core/testing/cluster.ts";
import { memberAddress } from "../../src/operator/names.ts";
import { healthPaths } from "../../src/operator/render/health.ts";
import { eventually } from "../../testbed/eventually.ts";
import { HttpProbe } from "../../src/etcd/probe.ts";
import { systemClock } from "../../src/seams/clock.ts";
import { TestCluster, TestMember } from "../support/etcd-cluster.ts";
import { outerVersions } from "../support/sample.ts";
import { freePorts } from "../support/free-ports.ts";

const KINDS = {
  founder: { boot: "New", role: "Voter" },
  joiner: { boot: "Join", role: "Voter" },
  learner: { boot: "Join", role: "Learner" },
} as const;

/** HTTP status. */
async function ask(host: string, port: number | string, path: string, body?: object): Promise<number> {
  const method = body ? "POST" : "GET";
  const outgoing = request({ host, port, path, method, agent: false, signal: AbortSignal.timeout(10_000) });
  outgoing.end(body && JSON.stringify(body));
  const [answer] = (await once(outgoing, "response")) as [NodeJS.ReadableStream & { statusCode?: number }];
  answer.resume();
  await once(answer, "end");
  return answer.statusCode ?? 0;
}

async function hasIPv6(): Promise<boolean> {
  const server = createServer().listen(0, "::1");
  const up = await Promise.race([
    once(server, "listening").then(() => true),
    once(server, "error").then(() => false),
  ]);
  server.close();
  return up;
}

/** The host that members are told to listen on. */
const everywhere = new URL(
  memberAddress({ name: "demo", namespace: "default", spec: specOf({ tls: { mode: "Disabled" } }) }, 1, "Pod")
    .listenClientURL,
).hostname;

const ipv6 = await hasIPv6();

for (const version of outerVersions) {
  describe(`etcd ${version}`, { timeout: 180_000 }, () => {
    test("listens on every address of both families", async (t) => {
      if (!ipv6) return t.skip("this machine has no IPv6");
      await using cluster = await TestCluster.prepare({ version, members: 1 });
      const member = await cluster.prepareMember();
      const [metrics = 0] = await freePorts(1);
      const { port } = new URL(member.clientUrl);
      const args = [
        `--listen-client-urls=http://${everywhere}:${port}`,
        `--listen-metrics-urls=http://${everywhere}:${metrics}`,
      ];
      await cluster.launch(member, { state: "new", args });
      await cluster.serving(member);
      for (const host of ["127.0.0.1", "::1"]) {
        assert.equal(await ask(host, port, "/version"), 200, `${host} for clients`);
        assert.equal(await ask(host, metrics, "/livez"), 200, `${host} for probes`);
      }
      const probe = new HttpProbe();
      const date = await probe.date(`http://127.0.0.1:${metrics}/livez`, AbortSignal.timeout(10_000));
      assert.ok(Math.abs(systemClock.now() - (date ?? 0)) < 10_000, `it says that it is ${date}`);
    });

    test("joins, replicates and elects where peers dial each other over IPv6 alone", async (t) => {
      if (!ipv6) return t.skip("this machine has no IPv6");
      await using cluster = await TestCluster.prepare({ version, members: 3 });
      const launch = async (state: "new" | "existing") => {
        const [client, peer] = await freePorts(2);
        const name = `v6-${cluster.members.length + 1}`;
        const member = new TestMember(
          name,
          version,
          cluster.dir,
          `http://127.0.0.1:${client}`,
          `http://[::1]:${peer}`,
        );
        const args = [`--listen-peer-urls=http://${everywhere}:${peer}`];
        const [voter] = cluster.members;
        cluster.members.push(member);
        const { cluster: calls } = cluster.client([voter?.endpoint ?? member.endpoint]);
        const patience = { withinMs: 60_000 };
        // Refused until all voters have been connected for a while (R19).
        const added =
          voter &&
          (await eventually(
            "etcd adds it",
            async () => await calls.memberAdd([member.peerUrl], { learner: true }),
            patience,
          ));
        await cluster.launch(member, { state, args });
        await cluster.serving(member);
        if (added)
          await eventually("it votes", async () => await calls.memberPromote(added.member.id), patience);
        return member;
      };
      const first = await launch("new");
      const second = await launch("existing");
      const third = await launch("existing");
      const { kv: newest } = cluster.client([third.endpoint]);
      // It was promoted by the others, and knows it a moment later.
      await eventually("the newest takes a write", async () => await newest.put("key", "over IPv6"));
      await first.running.kill();
      const { kv } = cluster.client([second.endpoint]);
      const { kvs } = await eventually("the other two elect a leader", async () => await kv.range("key"));
      assert.equal(kvs.length, 1);
    });

    test("R34–R36: its probes tell voters, learners, alarms and the lack of a leader apart", async () => {
      await using cluster = await TestCluster.prepare({ version, members: 2 });
      const ports = new Map<TestMember, number>();
      const launch = async (state: "new" | "existing") => {
        const member = await cluster.prepareMember();
        const [metrics = 0] = await freePorts(1);
        ports.set(member, metrics);
        if (state === "existing")
          await cluster
            .client([voterOf(cluster).endpoint])
            .cluster.memberAdd([member.peerUrl], { learner: true });
        await cluster.launch(member, { state, args: [`--listen-metrics-urls=http://127.0.0.1:${metrics}`] });
        await cluster.serving(member);
        return member;
      };
      const probe = (member: TestMember, kind: "live" | "ready", what: keyof typeof KINDS) =>
        ask("127.0.0.1", ports.get(member) ?? 0, healthPaths(version, KINDS[what])[kind] ?? "");
      const voter = await launch("new");
      await eventually("the voter is ready", async () => (await probe(voter, "ready", "founder")) === 200);
      const learner = await launch("existing");
      await eventually("the learner serves", async () => (await probe(learner, "ready", "learner")) === 200);
      assert.equal(
        await probe(learner, "ready", "joiner"),
        503,
        "one that is to vote is not ready before it does",
      );
      assert.equal(await probe(learner, "live", "joiner"), 200);
      assert.equal(await probe(voter, "ready", "joiner"), 200, "and is once it votes");

      const alarm = { action: "ACTIVATE", memberID: 0, alarm: "CORRUPT" };
      assert.equal(
        await ask("127.0.0.1", new URL(voter.clientUrl).port, "/v3/maintenance/alarm", alarm),
        200,
      );
      assert.equal(
        await ask("127.0.0.1", ports.get(voter) ?? 0, "/readyz"),
        503,
        "by itself it counts the alarm",
      );
      for (const kind of ["ready", "live"] as const)
        assert.equal(await probe(voter, kind, "founder"), 200, kind);

      await voter.running.kill();
      await eventually(
        "without a leader nobody is ready",
        async () => (await probe(learner, "ready", "learner")) === 503,
      );
      assert.equal(await probe(learner, "live", "learner"), 200, "but alive");
    });
  });
}

function voterOf(cluster: TestCluster): TestMember {
  const [voter] = cluster.members;
  assert.ok(voter);
  return voter;
}
