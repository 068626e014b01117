/**
 * The rendered configuration file on real etcd: accepted by every minor with every option set, and its values
 * in effect; a founder that comes late; and what etcd does with keys it does not know, which is why the
 * table of known keys exists.
 */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import type { EtcdClusterSpecInput } from "../../src/api/etcd-cluster-spec.ts";
import { kindOf } from "../../src/core/config/config-keys.ts";
import { etcdConfig, unsupportedOptions, type EtcdConfig } from "../../src/core/config/flags.ts";
import type { MemberRecord } from "../../src/core/record.ts";
import { MAX_LEARNERS } from "../../src/core/assess/learner-limit.ts";
import { recordOf } from "../../src/core/testing/record.ts";
import { EtcdClient } from "../../src/etcd/client.ts";
import { GrpcTransport } from "../../src/etcd/grpc/transport.ts";
import { EtcdProcess } from "../../src/etcd/process.ts";
import { systemClock } from "../../src/seams/clock.ts";
import { eventually } from "../../testbed/eventually.ts";
import { etcdOf, world } from "../support/etcd-cluster.ts";
import { freePorts } from "../support/free-ports.ts";
import { makeTestPki, type TestPki } from "../support/etcd-pki.ts";

/** Every option, and of the extra flags one of each type. */
const FULLEST: EtcdClusterSpecInput["options"] = {
  quotaBackendBytes: "64Mi",
  autoCompaction: { mode: "Periodic", retention: "30m" },
  heartbeatInterval: "50ms",
  electionTimeout: "700ms",
  snapshotCount: 4321,
  maxRequestBytes: "2Mi",
  maxTxnOps: 99,
  maxConcurrentStreams: 77,
  metrics: "Extensive",
  logLevel: "Info",
  corruptCheck: { initial: true, compactHash: true, compactHashTime: "2m", time: "3h" },
  extraArgs: {
    "max-wals": "6",
    "backend-batch-interval": "90ms",
    "grpc-keepalive-timeout": "25s",
    "watch-progress-notify-interval": "7s",
    "experimental-enable-lease-checkpoint": "true",
    "cipher-suites": "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
    "host-whitelist": "127.0.0.1",
    "enable-pprof": "true",
  },
};

class Members {
  readonly dir = mkdtempSync(path.join(os.tmpdir(), "quorate-flags-"));
  readonly pki: TestPki;
  readonly processes: EtcdProcess[] = [];
  readonly #transport: GrpcTransport;

  private constructor(pki: TestPki) {
    this.pki = pki;
    this.#transport = new GrpcTransport({ clock: systemClock, tls: pki.credentials });
    pki.flags(this.dir);
    const read = (name: string) => readFileSync(path.join(this.dir, name), "utf8");
    writeFileSync(path.join(this.dir, "leaf.pem"), read("server.crt") + read("server.key"), { mode: 0o600 });
  }

  static async prepare(): Promise<Members> {
    return new Members(await makeTestPki());
  }

  /** Records of founders on free ports. */
  async founders(
    version: string,
    count: number,
    spec: Partial<EtcdClusterSpecInput>,
  ): Promise<MemberRecord[]> {
    const ports = await freePorts(3 * count);
    const url = (i: number, scheme = "https") => `${scheme}://127.0.0.1:${ports[i]}`;
    const numbers = Array.from({ length: count }, (_, i) => i);
    const plan = numbers.map((i) => ({ name: `demo-${i + 1}`, peerURL: url(3 * i) }));
    return numbers.map((i) =>
      recordOf(version, spec, {
        name: `demo-${i + 1}`,
        ordinal: i + 1,
        token: path.basename(this.dir),
        initialCluster: plan,
        address: {
          peerURL: url(3 * i),
          listenPeerURL: url(3 * i),
          clientURL: url(3 * i + 1),
          listenClientURL: url(3 * i + 1),
          metricsURL: url(3 * i + 2, "http"),
          listenMetricsURL: url(3 * i + 2, "http"),
        },
      }),
    );
  }

  file(record: MemberRecord, established: boolean): EtcdConfig {
    const [leaf, ca] = [path.join(this.dir, "leaf.pem"), path.join(this.dir, "ca.crt")];
    const paths = { dataDir: path.join(this.dir, record.name), serverPem: leaf, peerPem: leaf };
    return etcdConfig(record, { established, paths: { ...paths, clientCA: ca, peerCA: ca } });
  }

  async start(record: MemberRecord, established: boolean, more: EtcdConfig = {}): Promise<EtcdProcess> {
    const { etcd } = await etcdOf(record.template.version);
    const config = path.join(this.dir, `${record.name}.json`);
    writeFileSync(config, JSON.stringify({ ...this.file(record, established), ...more }));
    const process = await EtcdProcess.start(world, {
      binary: etcd,
      args: ["--config-file", config],
      env: { HOME: this.dir },
      cwd: this.dir,
      log: this.log(record),
    });
    this.processes.push(process);
    return process;
  }

  log(record: MemberRecord): string {
    return path.join(this.dir, `${record.name}.log`);
  }

  client(...records: readonly MemberRecord[]): EtcdClient {
    const endpoints = records.map(({ name, address }) => ({ name, url: address.clientURL }));
    return new EtcdClient({ transport: this.#transport, clock: systemClock, endpoints });
  }

  async serves(record: MemberRecord, process: EtcdProcess): Promise<void> {
    const { kv } = this.client(record);
    await process.ready(async (signal) => {
      await kv.range("health", { signal, timeoutMs: 1_000 });
      return true;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.processes.map((process) => process.kill()));
    await this.#transport.close();
    rmSync(this.dir, { recursive: true, force: true });
  }
}

/** The value of one series of `/metrics`. */
async function metric(record: MemberRecord, series: string): Promise<number | undefined> {
  const response = await fetch(`${record.address.metricsURL}/metrics`);
  const line = (await response.text()).split("\n").find((text) => text.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length + 1));
}

/** What etcd logs of its configuration at its start. */
function startLog(file: string): Record<string, unknown> {
  const lines = readFileSync(file, "utf8").split("\n");
  const line = lines.find((text) => text.includes('"starting an etcd server"'));
  assert.ok(line, `no start line in ${lines.slice(0, 5).join("\n")}`);
  return JSON.parse(line) as Record<string, unknown>;
}

for (const version of ["3.4.23", "3.5.35", "3.6.16", "3.7.3"]) {
  await etcdOf(version);
  const recent = kindOf("feature-gates", version) !== undefined;

  describe(`the configuration file on etcd ${version}`, { timeout: 120_000 }, () => {
    let members: Members;
    let record: MemberRecord;
    before(async () => {
      members = await Members.prepare();
      [record = assert.fail()] = await members.founders(version, 1, { options: FULLEST });
      await members.serves(record, await members.start(record, false));
    });
    after(() => members?.[Symbol.asyncDispose]());

    test("every option is accepted, with TLS on both planes, and the member serves", async () => {
      const reported = unsupportedOptions(record.template.options, version).map(({ field }) => field);
      assert.deepEqual(reported, version === "3.4.23" ? ["options.corruptCheck.compactHashTime"] : []);
      await members.client(record).kv.put("a", "b");
    });

    test("the values are in effect", async () => {
      assert.equal(await metric(record, "etcd_server_quota_backend_bytes"), 64 * 1024 ** 2);
      const said = startLog(members.log(record));
      const expected: Record<string, unknown> = {
        "heartbeat-interval": "50ms",
        "election-timeout": "700ms",
        "snapshot-count": 4321,
        "max-wals": 6,
        "initial-cluster-state": "new",
        "pre-vote": true,
        "max-request-bytes": 2 * 1024 ** 2,
        "max-concurrent-streams": 77,
        "corrupt-check-time-interval": "3h0m0s",
        "auto-compaction-mode": "periodic",
        "auto-compaction-retention": "30m0s",
        "auto-compaction-interval": "30m0s",
      };
      for (const [key, value] of Object.entries(expected)) assert.equal(said[key], value, key);
      if (version !== "3.4.23") assert.equal(said["compact-check-time-interval"], "2m0s");
      // From 3.6 on this line says false whatever the gate says; there the metric tells.
      if (!recent) assert.equal(said["initial-corrupt-check"], true);
      if (recent) {
        const gate = (name: string) =>
          metric(record, `etcd_server_feature_enabled{name="${name}",stage="ALPHA"}`);
        assert.equal(await gate("InitialCorruptCheck"), 1);
        assert.equal(await gate("CompactHashCheck"), 1);
        assert.equal(await gate("LeaseCheckpoint"), 1);
        assert.equal(said["max-learners"], MAX_LEARNERS);
      }
    });

    test("joined, it starts again from its own data with itself only; an emptied directory does not start (H3)", async () => {
      const [process] = members.processes;
      await process?.stop();
      const joined = { ...record, joined: true };
      await members.serves(joined, await members.start(joined, true));
      const { kvs } = await members.client(record).kv.range("a");
      assert.equal(kvs.length, 1);
      await members.processes.at(-1)?.stop();
      rmSync(path.join(members.dir, record.name), { recursive: true });
      const exit = await (await members.start(joined, true)).exited;
      assert.match(exit.said, /member count is unequal|cannot fetch cluster info|discovery/i);
    });

    test("a key that it does not know is ignored without a word", async () => {
      const [other = assert.fail()] = await members.founders(version, 1, {});
      const extra = { ...other, name: "ignores" };
      const alone = { ...extra, initialCluster: [{ name: "ignores", peerURL: other.address.peerURL }] };
      await members.serves(alone, await members.start(alone, false, { "no-such-key": 5 }));
      assert.doesNotMatch(readFileSync(members.log(alone), "utf8"), /no-such-key/);
    });

    test("a value of the wrong type stops it at once", async () => {
      const [other = assert.fail()] = await members.founders(version, 1, {
        options: { extraArgs: { "max-wals": "many" } },
      });
      const exit = await (await members.start({ ...other, name: "wrong" }, false)).exited;
      assert.match(exit.said, /cannot unmarshal string into .*max-wals/);
    });

    if (recent && version.startsWith("3.6")) {
      test("a feature as gate and as experimental key at once stops it, which is never rendered", async () => {
        const [other = assert.fail()] = await members.founders(version, 1, {});
        const both = { "experimental-initial-corrupt-check": true };
        const exit = await (await members.start({ ...other, name: "both" }, false, both)).exited;
        assert.match(exit.tail.join("\n"), /cannot specify both flags/);
      });
    }
  });

  describe(`founders on etcd ${version}`, { timeout: 120_000 }, () => {
    test("one that comes late, after the cluster was seen, joins with the plan and state existing (I3)", async () => {
      await using members = await Members.prepare();
      const records = await members.founders(version, 3, {});
      const [first = assert.fail(), second = assert.fail(), late = assert.fail()] = records;
      const started = await Promise.all([first, second].map((record) => members.start(record, false)));
      await Promise.all([members.serves(first, started[0]!), members.serves(second, started[1]!)]);
      const client = members.client(first, second);
      await client.kv.put("before", "x");
      await client.kv.put("before", "y");

      await members.serves(late, await members.start(late, true));
      await eventually("the late founder has the data", async () => {
        const { kvs } = await members.client(late).kv.range("before");
        return kvs.length === 1;
      });
      const { members: list } = await client.cluster.memberList();
      assert.equal(list.length, 3);
      assert.ok(
        list.every((member) => member.name !== "" && member.clientUrls.length > 0 && !member.isLearner),
      );
      // It counts: with another one down there is still quorum.
      await started[1]?.kill();
      await eventually("writes go on with the late founder's vote", async () => {
        await members.client(first, late).kv.put("after", "z", { timeoutMs: 1_000 });
        return true;
      });
      assert.match(readFileSync(members.log(late), "utf8"), /"initial-cluster-state":"existing"/);
    });
  });
}
