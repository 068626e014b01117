import assert from "node:assert/strict";
import { test } from "node:test";
import { activePeersIn, agreedVersion } from "./probe.ts";

test("what a cluster says before its members have agreed on a version is no version", () => {
  assert.equal(agreedVersion("not_decided"), undefined);
  assert.equal(agreedVersion(undefined), undefined);
  assert.equal(agreedVersion("3.0.0"), undefined);
  assert.equal(agreedVersion("3.6.0"), "3.6.0");
});

test("the peers that a member is connected to stand in its metrics, one line each", () => {
  const metrics = [
    "# HELP etcd_network_active_peers The current number of active peer connections.",
    "# TYPE etcd_network_active_peers gauge",
    'etcd_network_active_peers{Local="8e9e05c52164694d",Remote="91bc3c398fb3c146"} 1',
    'etcd_network_active_peers{Local="8e9e05c52164694d",Remote="fd422379fda50e48"} 0',
    'etcd_network_client_grpc_received_bytes_total{Remote="fd422379fda50e48"} 1',
    "",
  ].join("\n");
  assert.deepEqual([...activePeersIn(metrics)], ["91bc3c398fb3c146"]);
  assert.equal(activePeersIn("").size, 0);
});
