/**
 * Why etcd ends, made to happen: each reason with a real process. Most hold for every version and are
 * shown on the newest; those whose words or ways differ run on all.
 */
import assert from "node:assert/strict";
import { cpSync, openSync, closeSync, rmSync, truncateSync, writeFileSync, writeSync } from "node:fs";
import { createServer } from "node:net";
import path from "node:path";
import process from "node:process";
import { after, before, describe, test } from "node:test";
import type { ExitReason } from "../../src/etcd/exit-reasons.ts";
import { EtcdProcess, EtcdStartError, type EtcdExit } from "../../src/etcd/process.ts";
import { SpawnError, systemProcesses } from "../../src/seams/processes.ts";
import { eventually } from "../../testbed/eventually.ts";
import { etcdOf, TestCluster, world, type StartOptions, type TestMember } from "../support/etcd-cluster.ts";
import { newestVersions } from "../support/etcd-versions.ts";
import { outerVersions } from "../support/sample.ts";

const newest = newestVersions.at(-1) as string;

/** Starts a member that cannot live and returns its end. */
async function endOf(
  cluster: TestCluster,
  member: TestMember,
  options: StartOptions = {},
): Promise<EtcdExit> {
  const running = await cluster.launch(member, { among: [member], ...options });
  await assert.rejects(
    running.ready(() => Promise.resolve(false), { timeoutMs: 60_000 }),
    EtcdStartError,
  );
  assert.ok(running.exit !== undefined, `it still runs: ${(await running.tail(5)).join("\n")}`);
  return running.exit;
}

function spoil(file: string, from: number, length: number): void {
  const handle = openSync(file, "r+");
  writeSync(handle, Buffer.alloc(length, 0xab), 0, length, from);
  closeSync(handle);
}

describe("one member", () => {
  let cluster: TestCluster;
  let member: TestMember;
  let keep: () => void;
  before(async () => {
    cluster = await TestCluster.start({ version: newest, members: 1 });
    member = cluster.members[0] as TestMember;
    for (let i = 0; i < 20; i++) await cluster.client().kv.put(`k${i}`, "x".repeat(5_000));
    await cluster.settled(member);
    await member.running.stop();
    const copy = path.join(cluster.dir, "copy");
    cpSync(member.dataDir, copy, { recursive: true });
    keep = () => {
      cluster.wipe(member);
      cpSync(copy, member.dataDir, { recursive: true });
    };
  });
  after(async () => await cluster?.[Symbol.asyncDispose]());

  test("stopping is patient and told as a stop; killing is reported as a kill", async () => {
    await cluster.restart(member);
    assert.equal((await member.running.stop()).reason, "stopped");
    await cluster.restart(member);
    assert.equal((await member.running.kill()).reason, "killed");
  });

  test("a frozen process is stopped too", async () => {
    await cluster.restart(member);
    member.running.pause();
    assert.equal((await member.running.stop()).reason, "stopped");
  });

  test("a process is adopted by pid and start time, and its end explained from its log", async () => {
    await cluster.restart(member);
    const adopted = await EtcdProcess.adopt(world, member.running.identity, member.log);
    assert.ok(adopted);
    const stranger = { ...member.running.identity, startTime: "another boot" };
    assert.equal(await EtcdProcess.adopt(world, stranger, member.log), undefined);
    assert.equal((await adopted.stop()).reason, "stopped");
    await member.running.exited;
    assert.equal(await EtcdProcess.adopt(world, member.running.identity, member.log), undefined);
  });

  test("a binary that is not there is reported before anything runs", async () => {
    const spec = {
      binary: path.join(cluster.dir, "none"),
      args: [],
      env: {},
      cwd: cluster.dir,
      log: member.log,
    };
    await assert.rejects(EtcdProcess.start(world, spec), SpawnError);
    assert.deepEqual(await systemProcesses.find(path.join(cluster.dir, "none")), []);
  });

  test("a configuration file is taken instead of flags", async () => {
    const file = path.join(cluster.dir, "etcd.yaml");
    const flags = cluster.flags(member, { among: [member] });
    writeFileSync(file, flags.map((flag) => flag.replace(/^--/, "").replace("=", ": ")).join("\n"));
    const { etcd } = await etcdOf(newest);
    const args = ["--config-file", file];
    member.process = await EtcdProcess.start(world, {
      binary: etcd,
      args,
      env: { PATH: process.env["PATH"] },
      cwd: cluster.dir,
      log: member.log,
    });
    await cluster.serving(member);
    await member.running.stop();
    writeFileSync(file, "name: [broken");
    const broken = await EtcdProcess.start(world, {
      binary: etcd,
      args,
      env: {},
      cwd: cluster.dir,
      log: member.log,
    });
    assert.equal((await broken.exited).reason, "bad-config");
  });

  const flagged: [string, ExitReason, readonly string[]][] = [
    ["an unknown flag", "bad-flag", ["--nonsense=1"]],
    ["a value that does not parse", "bad-flag", ["--snapshot-count=many"]],
    ["flags that do not fit together", "bad-config", ["--election-timeout=60"]],
    [
      "a name that is not in the initial cluster",
      "not-in-initial-cluster",
      ["--name=other", "--data-dir=other"],
    ],
  ];
  for (const [what, reason, args] of flagged)
    test(`${what}: ${reason}`, async () => {
      const exit = await endOf(cluster, member, { args });
      assert.equal(exit.reason, reason, exit.said);
      assert.ok(exit.next.length > 5 && exit.said.length > 5);
    });

  test("a certificate that is none: bad-certificate", async () => {
    const file = path.join(cluster.dir, "bad.pem");
    writeFileSync(file, "nonsense");
    const url = member.clientUrl.replace("http:", "https:");
    const args = [`--cert-file=${file}`, `--key-file=${file}`, `--listen-client-urls=${url}`];
    assert.equal((await endOf(cluster, member, { args })).reason, "bad-certificate");
  });

  test("a port that another holds: port-in-use", async () => {
    const holder = createServer();
    const { port } = new URL(member.clientUrl);
    await new Promise<void>((resolve) => holder.listen(Number(port), "127.0.0.1", resolve));
    try {
      const exit = await endOf(cluster, member);
      assert.equal(exit.reason, "port-in-use");
      assert.match(exit.said, new RegExp(`:${port}`));
    } finally {
      await new Promise((resolve) => holder.close(resolve));
    }
  });

  test("a data directory that is a file: not-a-directory", async () => {
    const file = path.join(cluster.dir, "file");
    writeFileSync(file, "");
    assert.equal((await endOf(cluster, member, { args: [`--data-dir=${file}`] })).reason, "not-a-directory");
  });

  test("a database that is cut off or overwritten: corrupt-data", async () => {
    const db = path.join(member.dataDir, "member", "snap", "db");
    const faults = [() => truncateSync(db, 4_096), () => spoil(db, 0, 8_192), () => spoil(db, 8_192, 40_960)];
    for (const fault of faults) {
      fault();
      const exit = await endOf(cluster, member);
      assert.equal(exit.reason, "corrupt-data", exit.said);
      keep();
    }
  });

  test("an emptied directory with only itself in the list: cluster-unreachable (H3, I4)", async () => {
    cluster.wipe(member);
    assert.equal((await endOf(cluster, member)).reason, "cluster-unreachable");
    keep();
  });

  test("data of a newer or of a much older version: told which way (R13, H5)", async () => {
    member.version = newestVersions.at(-2) as string;
    assert.equal((await endOf(cluster, member)).reason, "data-newer-version");
    member.version = newestVersions[0] as string;
    keep();
    assert.equal((await endOf(cluster, member)).reason, "cluster-newer-version");
    member.version = newest;
    keep();
    await using old = await TestCluster.start({ version: newestVersions[0] as string, members: 1 });
    const aged = old.members[0] as TestMember;
    await old.client().kv.put("a", "b");
    await aged.running.stop();
    aged.version = newest;
    assert.equal((await endOf(old, aged)).reason, "data-older-version");
  });
});

for (const version of outerVersions)
  test(`etcd ${version}: what a member meets when the cluster knows better`, async (t) => {
    await using cluster = await TestCluster.start({ version, members: 3 });
    const client = cluster.client();
    const [one, two] = (await cluster.followers()) as [TestMember, TestMember];
    await client.kv.put("a", "b");

    await t.test("wiped and started as new: already-bootstrapped (R6)", async () => {
      await one.running.kill();
      cluster.wipe(one);
      const exit = await endOf(cluster, one, { among: cluster.members, state: "new" });
      assert.equal(exit.reason, "already-bootstrapped");
    });

    await t.test("wiped and started as existing, it is told that it lost data: data-lost (R7)", async () => {
      cluster.wipe(one);
      const exit = await endOf(cluster, one, { among: cluster.members, state: "existing" });
      assert.equal(exit.reason, "data-lost", exit.said);
    });

    await t.test("removed, and started again on its data: permanently-removed (R8)", async () => {
      const { members } = await client.cluster.memberList();
      // Through the one that stays: a member that removes itself may end before it has answered.
      const stays = cluster.client([(await cluster.leader()).endpoint]);
      const remove = async (gone: TestMember) => {
        await stays.cluster.memberRemove(members.find(({ name }) => name === gone.name)?.id ?? 0n);
        return true;
      };
      await eventually("it may be removed", () => remove(one));
      await eventually("the other may be removed too", () => remove(two));
      assert.equal((await two.running.exited).reason, "permanently-removed");
      const again = await cluster.launch(two, { among: [two] });
      assert.equal((await again.exited).reason, "permanently-removed");
    });

    await t.test("an incomplete or wrong list of members: told which (R7)", async () => {
      cluster.wipe(two);
      const leader = await cluster.leader();
      await eventually("it may be added", async () => {
        await client.cluster.memberAdd([two.peerUrl], { learner: true });
        return true;
      });
      const short = await endOf(cluster, two, { among: [two, leader, one], state: "existing" });
      assert.equal(short.reason, "member-count-unequal");
      const wrong = await endOf(cluster, two, {
        among: [leader],
        state: "existing",
        args: [
          `--initial-cluster=${leader.name}=${leader.peerUrl},${two.name}=${one.peerUrl}`,
          `--initial-advertise-peer-urls=${one.peerUrl}`,
        ],
      });
      assert.equal(wrong.reason, "peer-urls-unmatched", wrong.said);
      assert.ok(wrong.said.length <= 310);
      rmSync(two.dataDir, { recursive: true, force: true });
    });
  });
