/** The configuration file of etcd, version by version, as a table to be read. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { EtcdClusterSpecInput } from "../../api/etcd-cluster-spec.ts";
import { clientURLOf, etcdConfig, unsupportedOptions } from "./flags.ts";
import type { MemberRecord } from "../record.ts";
import { paths, recordOf, VERSIONS, type Version } from "../testing/record.ts";

const config = (record: MemberRecord, established = false) => etcdConfig(record, { established, paths });
/** The file for these options alone. */
const withOptions = (version: string, options: EtcdClusterSpecInput["options"]) =>
  config(recordOf(version, { options }));
const unsupported = (version: string, options: EtcdClusterSpecInput["options"]) =>
  unsupportedOptions(recordOf(version, { options }).template.options, version);

describe("the file of a founder with default options", () => {
  const everywhere = {
    name: "demo-1",
    "data-dir": "/data",
    "initial-cluster":
      "demo-1=https://demo-1.demo:2380,demo-2=https://demo-2.demo:2380,demo-3=https://demo-3.demo:2380",
    "initial-cluster-state": "new",
    "initial-cluster-token": "uid-1",
    "initial-advertise-peer-urls": "https://demo-1.demo:2380",
    "listen-peer-urls": "https://0.0.0.0:2380",
    "listen-client-urls": "https://0.0.0.0:2379",
    "advertise-client-urls": "https://demo-1.demo:2379",
    "listen-metrics-urls": "http://0.0.0.0:2381",
    "client-transport-security": {
      "cert-file": "/tls/server.pem",
      "key-file": "/tls/server.pem",
      "client-cert-auth": true,
      "trusted-ca-file": "/tls/client-ca.pem",
    },
    "peer-transport-security": {
      "cert-file": "/tls/peer.pem",
      "key-file": "/tls/peer.pem",
      "client-cert-auth": true,
      "trusted-ca-file": "/tls/peer-ca.pem",
    },
    "pre-vote": true,
    "strict-reconfig-check": true,
    "enable-grpc-gateway": true,
    logger: "zap",
    "log-outputs": ["stderr"],
    "log-level": "info",
    metrics: "basic",
    "quota-backend-bytes": 2147483648,
    "auto-compaction-mode": "periodic",
    "auto-compaction-retention": "10h",
    "heartbeat-interval": 100,
    "election-timeout": 1000,
  };
  const only: Record<Version, Record<string, unknown>> = {
    "3.4.45": { "experimental-initial-corrupt-check": true },
    "3.5.35": {
      "experimental-initial-corrupt-check": true,
      "experimental-compact-hash-check-enabled": true,
      "experimental-compact-hash-check-time": 60_000_000_000,
    },
    "3.6.16": {
      "max-learners": 18,
      "feature-gates": "CompactHashCheck=true,InitialCorruptCheck=true",
      "compact-hash-check-time": 60_000_000_000,
    },
    "3.7.3": {
      "max-learners": 18,
      "feature-gates": "CompactHashCheck=true,InitialCorruptCheck=true",
      "compact-hash-check-time": 60_000_000_000,
    },
  };
  for (const version of VERSIONS) {
    test(`on ${version}`, () => {
      assert.deepEqual(config(recordOf(version)), { ...everywhere, ...only[version] });
    });
  }
});

describe("what every option becomes", () => {
  const rows: readonly [
    what: string,
    options: NonNullable<EtcdClusterSpecInput["options"]>,
    keys: Record<Version, Record<string, unknown>>,
  ][] = [
    ["a quota, in bytes", { quotaBackendBytes: "8Gi" }, same({ "quota-backend-bytes": 8589934592 })],
    [
      "compaction by revision",
      { autoCompaction: { mode: "Revision", retention: 1000 } },
      same({ "auto-compaction-mode": "revision", "auto-compaction-retention": "1000" }),
    ],
    [
      "timings, in whole milliseconds",
      { heartbeatInterval: "250ms", electionTimeout: "2.5s" },
      same({ "heartbeat-interval": 250, "election-timeout": 2500 }),
    ],
    [
      "limits",
      { snapshotCount: 5000, maxRequestBytes: "4Mi", maxTxnOps: 256, maxConcurrentStreams: 1000 },
      same({
        "snapshot-count": 5000,
        "max-request-bytes": 4194304,
        "max-txn-ops": 256,
        "max-concurrent-streams": 1000,
      }),
    ],
    [
      "metrics and log level",
      { metrics: "Extensive", logLevel: "Debug" },
      same({ metrics: "extensive", "log-level": "debug" }),
    ],
    [
      "the full check, in nanoseconds",
      { corruptCheck: { time: "4h" } },
      perVersion(
        { "experimental-corrupt-check-time": 14_400_000_000_000, "corrupt-check-time": undefined },
        { "corrupt-check-time": 14_400_000_000_000, "experimental-corrupt-check-time": undefined },
      ),
    ],
    [
      "checks turned off",
      { corruptCheck: { initial: false, compactHash: false } },
      perVersion(
        {
          "experimental-initial-corrupt-check": false,
          "experimental-compact-hash-check-enabled": undefined,
          "experimental-compact-hash-check-time": undefined,
        },
        {
          "feature-gates": "CompactHashCheck=false,InitialCorruptCheck=false",
          "compact-hash-check-time": undefined,
        },
      ),
    ],
    [
      "extra flags, in the types of the file",
      {
        extraArgs: {
          "max-wals": "7",
          "enable-pprof": "true",
          "backend-batch-interval": "200ms",
          "cipher-suites": "TLS_A,TLS_B",
          cors: "*",
          "pre-vote": "false",
        },
      },
      same({
        "max-wals": 7,
        "enable-pprof": true,
        "backend-batch-interval": 200_000_000,
        "cipher-suites": ["TLS_A", "TLS_B"],
        cors: "*",
        "pre-vote": false,
      }),
    ],
    [
      "an extra flag that lost its prefix in 3.6",
      { extraArgs: { "experimental-watch-progress-notify-interval": "5s" } },
      perVersion(
        { "experimental-watch-progress-notify-interval": 5_000_000_000 },
        {
          "watch-progress-notify-interval": 5_000_000_000,
          "experimental-watch-progress-notify-interval": undefined,
        },
      ),
    ],
    [
      "the same, written as 3.6 has it",
      { extraArgs: { "compaction-batch-limit": "500" } },
      perVersion({ "experimental-compaction-batch-limit": 500 }, { "compaction-batch-limit": 500 }),
    ],
    [
      "an extra switch that became a gate in 3.6",
      { extraArgs: { "experimental-enable-lease-checkpoint": "true" } },
      perVersion(
        { "experimental-enable-lease-checkpoint": true },
        {
          "feature-gates": "CompactHashCheck=true,InitialCorruptCheck=true,LeaseCheckpoint=true",
          "experimental-enable-lease-checkpoint": undefined,
        },
      ),
    ],
  ];
  for (const [what, options, keys] of rows) {
    for (const version of VERSIONS) {
      test(`${what}, on ${version}`, () => {
        const file = withOptions(version, options);
        for (const [key, value] of Object.entries(keys[version])) assert.deepEqual(file[key], value, key);
        assert.deepEqual(unsupported(version, options), []);
      });
    }
  }

  function perVersion(old: Record<string, unknown>, recent: Record<string, unknown>) {
    return { "3.4.45": old, "3.5.35": old, "3.6.16": recent, "3.7.3": recent };
  }
  function same(keys: Record<string, unknown>) {
    return perVersion(keys, keys);
  }
});

test("socket options are a section of the file, from 3.5 on", () => {
  const options = { extraArgs: { "socket-reuse-port": "true", "socket-reuse-address": "false" } };
  assert.deepEqual(withOptions("3.6.16", options)["socket-options"], {
    "reuse-port": true,
    "reuse-address": false,
  });
  assert.equal(unsupported("3.4.45", options).length, 2);
});

test("a member that has joined is named alone, with state existing, whoever it was (I4)", () => {
  const files = [
    config(recordOf("3.6.16", {}, { joined: true }), true),
    config(recordOf("3.6.16", {}, { joined: true, boot: "Join" }), true),
    config(recordOf("3.6.16", {}, { joined: true }), false),
  ];
  for (const file of files) {
    assert.equal(file["initial-cluster"], "demo-1=https://demo-1.demo:2380");
    assert.equal(file["initial-cluster-state"], "existing");
  }
});

test("a founder that comes late gets the plan with state existing, never new (I3)", () => {
  const file = config(recordOf("3.6.16"), true);
  assert.equal(file["initial-cluster-state"], "existing");
  assert.match(String(file["initial-cluster"]), /demo-2=.*demo-3=/);
});

test("a joiner gets the list of its moment with state existing (H7)", () => {
  const file = config(recordOf("3.6.16", {}, { boot: "Join" }), true);
  assert.equal(file["initial-cluster-state"], "existing");
  assert.match(String(file["initial-cluster"]), /demo-1=.*demo-2=.*demo-3=/);
});

describe("encryption per plane", () => {
  const sections = (tls: EtcdClusterSpecInput["tls"]) => {
    const file = config(recordOf("3.6.16", { tls }));
    return { client: file["client-transport-security"], peer: file["peer-transport-security"], file };
  };

  test("Disabled leaves both sections out", () => {
    const { client, peer, file } = sections({ mode: "Disabled" });
    assert.equal(client, undefined);
    assert.equal(peer, undefined);
    assert.equal(file["listen-client-urls"], "http://0.0.0.0:2379");
    assert.equal(file["advertise-client-urls"], "http://demo-1.demo:2379");
  });

  test("a plane may override the mode of both", () => {
    const { client, peer } = sections({ mode: "Disabled", peer: { mode: "Managed" } });
    assert.equal(client, undefined);
    assert.ok(peer);
    const other = sections({ client: { mode: "Disabled" } });
    assert.equal(other.client, undefined);
    assert.ok(other.peer);
  });

  test("a member may dial its peers with another certificate than it shows them, but for 3.4 (H15)", () => {
    const peer = (version: string) => {
      const context = { established: true, paths: { ...paths, peerClientPem: "/tls/peer-client.pem" } };
      return etcdConfig(recordOf(version), context)["peer-transport-security"];
    };
    for (const version of ["3.5.35", "3.6.16", "3.7.3"])
      assert.deepEqual(peer(version), {
        "cert-file": "/tls/peer.pem",
        "key-file": "/tls/peer.pem",
        "client-cert-file": "/tls/peer-client.pem",
        "client-key-file": "/tls/peer-client.pem",
        "client-cert-auth": true,
        "trusted-ca-file": "/tls/peer-ca.pem",
      });
    assert.doesNotMatch(JSON.stringify(peer("3.4.45")), /peer-client/);
  });

  test("of a CA that is not ours only who bears the name of all members is a peer, where etcd can check it (R49)", () => {
    const peer = (version: string, tls: EtcdClusterSpecInput["tls"]) => {
      const context = { established: true, paths, peersName: "demo-peers.default.svc" };
      return JSON.stringify(etcdConfig(recordOf(version, { tls }), context)["peer-transport-security"]);
    };
    const given = { peer: { mode: "Secrets", secrets: { member: "a" } } } as const;
    for (const version of ["3.5.35", "3.6.16", "3.7.3"])
      assert.match(peer(version, given), /"allowed-hostname":\["demo-peers\.default\.svc"\]/);
    for (const [version, tls] of [
      ["3.5.14", given],
      ["3.6.16", {}],
    ] as const)
      assert.doesNotMatch(peer(version, tls), /allowed/);
  });

  test("without clientAuth no CA is given, since a CA alone makes etcd demand certificates", () => {
    assert.deepEqual(sections({ clientAuth: "None" }).client, {
      "cert-file": "/tls/server.pem",
      "key-file": "/tls/server.pem",
    });
  });

  test("clients find a member by the scheme of its template", () => {
    assert.equal(clientURLOf(recordOf("3.6.16")), "https://demo-1.demo:2379");
    assert.equal(clientURLOf(recordOf("3.6.16", { tls: { mode: "Disabled" } })), "http://demo-1.demo:2379");
  });

  test("a missing certificate is an error, not a plain-text member", () => {
    assert.throws(
      () => etcdConfig(recordOf("3.6.16"), { established: false, paths: { dataDir: "/data" } }),
      /paths\.serverPem was not given/,
    );
  });
});

describe("what a version cannot take is reported with field and reason", () => {
  const rows: readonly [version: string, options: EtcdClusterSpecInput["options"], field: string, RegExp][] =
    [
      ["3.4.10", { maxConcurrentStreams: 5 }, "options.maxConcurrentStreams", /no limit of streams/],
      [
        "3.4.45",
        { corruptCheck: { compactHashTime: "5m" } },
        "options.corruptCheck.compactHashTime",
        /no compact-hash check/,
      ],
      [
        "3.6.16",
        { corruptCheck: { compactHashTime: "0s" } },
        "options.corruptCheck.compactHashTime",
        /more than 0s/,
      ],
      ["3.6.16", { extraArgs: { "max-wal": "7" } }, "options.extraArgs.max-wal", /no setting max-wal/],
      // A name that every JavaScript object has is a name like any other.
      [
        "3.6.16",
        { extraArgs: { constructor: "data" } },
        "options.extraArgs.constructor",
        /no setting constructor/,
      ],
      ["3.6.16", { extraArgs: { "max-wals": "many" } }, "options.extraArgs.max-wals", /a whole number/],
      [
        "3.6.16",
        { extraArgs: { "grpc-keepalive-timeout": "20" } },
        "options.extraArgs.grpc-keepalive-timeout",
        /a duration like/,
      ],
      [
        "3.7.3",
        { extraArgs: { "raft-read-timeout": "5s" } },
        "options.extraArgs.raft-read-timeout",
        /no setting/,
      ],
      [
        "3.4.45",
        { extraArgs: { "compaction-sleep-interval": "10ms" } },
        "options.extraArgs.compaction-sleep-interval",
        /no setting/,
      ],
      [
        "3.6.16",
        { featureGates: { PriorityRequest: true } },
        "options.featureGates.PriorityRequest",
        /no feature gate/,
      ],
      [
        "3.6.16",
        { extraArgs: { "compaction-batch-limit": "1", "experimental-compaction-batch-limit": "2" } },
        "options.extraArgs.experimental-compaction-batch-limit",
        /same setting/,
      ],
      [
        "3.6.16",
        {
          featureGates: { LeaseCheckpoint: true },
          extraArgs: { "experimental-enable-lease-checkpoint": "true" },
        },
        "options.extraArgs.experimental-enable-lease-checkpoint",
        /same setting/,
      ],
    ];
  for (const [version, options, field, reason] of rows) {
    test(`${field} on ${version}`, () => {
      const found = unsupported(version, options);
      assert.equal(found.length, 1);
      assert.equal(found[0]?.field, field);
      assert.match(found[0]?.reason ?? "", reason);
    });
  }

  test("a gate on a member that still runs 3.5 becomes the switch it once was", () => {
    const record = recordOf("3.6.16", { options: { featureGates: { LeaseCheckpoint: true } } });
    const file = config({ ...record, template: { ...record.template, version: "3.5.35" } });
    assert.equal(file["experimental-enable-lease-checkpoint"], true);
    assert.equal(file["feature-gates"], undefined);
  });

  test("a value of the wrong type is written as it is, so that etcd refuses it aloud", () => {
    assert.equal(withOptions("3.6.16", { extraArgs: { "max-wals": "many" } })["max-wals"], "many");
  });
});
