/** What each version's configuration file understands, at the edges of its table. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { hasGate, kindOf, switchOfGate, toValue } from "./config-keys.ts";
import { renderArgs } from "./extra-args.ts";
import { etcdConfig, unsupportedOptions } from "./flags.ts";
import { specOf } from "../testing/cluster.ts";
import { paths, recordOf } from "../testing/record.ts";

const VERSIONS = ["3.4.45", "3.5.7", "3.5.8", "3.5.13", "3.5.14", "3.6.16", "3.7.3"];
const having = (key: string) => VERSIONS.filter((version) => kindOf(key, version) !== undefined);

test("a key is known from its first version to its last minor, both included", () => {
  assert.deepEqual(having("name"), VERSIONS);
  assert.deepEqual(having("experimental-backend-bbolt-freelist-type"), ["3.4.45"]);
  assert.deepEqual(having("backend-bbolt-freelist-type"), VERSIONS.slice(1));
  assert.deepEqual(having("tls-min-version"), VERSIONS.slice(2));
  assert.deepEqual(having("experimental-stop-grpc-service-on-defrag"), ["3.5.14", "3.6.16"]);
  assert.deepEqual(having("experimental-warning-unary-request-duration"), ["3.6.16"]);
  assert.deepEqual(having("warning-unary-request-duration"), ["3.6.16", "3.7.3"]);
  assert.deepEqual(having("experimental-initial-corrupt-check"), VERSIONS.slice(0, -1));
  assert.deepEqual(having("force-new-cluster"), [], "nobody may set it here (R22)");
  assert.deepEqual(
    [kindOf("max-concurrent-streams", "3.4.22"), kindOf("max-concurrent-streams", "3.4.23")],
    [undefined, "int"],
  );
});

test("a gate is there from its first version on, under its own name only", () => {
  assert.equal(hasGate("InitialCorruptCheck", "3.6.0"), true);
  assert.equal(hasGate("InitialCorruptCheck", "3.5.35"), false);
  assert.equal(hasGate("FastLeaseKeepAlive", "3.6.16"), false);
  assert.equal(hasGate("FastLeaseKeepAlive", "3.7.0"), true);
  assert.equal(hasGate("toString", "3.7.3"), false);
  assert.equal(switchOfGate("LeaseCheckpoint"), "experimental-enable-lease-checkpoint");
  assert.equal(switchOfGate("AllAlpha"), undefined);
});

test("values are read as Go reads them, and what is none is reported", () => {
  assert.deepEqual(
    ["1", "t", "true", "0", "F", "False", "yes"].map((text) => toValue("bool", text)),
    [true, true, true, false, false, false, undefined],
  );
  assert.deepEqual(
    ["0", "1ms", "soon"].map((text) => toValue("duration", text)),
    [0, 1_000_000, undefined],
  );
  assert.deepEqual(
    ["12", "-1", "1.5"].map((text) => toValue("int", text)),
    [12, -1, undefined],
  );
  assert.deepEqual(toValue("list", "a,b"), ["a", "b"]);
  assert.equal(toValue("section", "x"), undefined);
});

test("of two spellings of one setting the newer one is written, whichever came first, and the other is reported", () => {
  for (const flags of [
    ["max-learners", "experimental-max-learners"],
    ["experimental-max-learners", "max-learners"],
  ]) {
    const args = Object.fromEntries(flags.map((flag) => [flag, flag.startsWith("exp") ? "1" : "2"]));
    const { keys, unsupported } = renderArgs(args, {}, "3.6.16");
    assert.equal(keys["max-learners"], 2);
    assert.deepEqual(
      unsupported.map(({ field }) => field),
      ["options.extraArgs.experimental-max-learners"],
    );
  }
});

test("a gate is a gate from 3.6 on, the switch it was before, and told of where there is neither", () => {
  const render = (version: string) => renderArgs({}, { StopGRPCServiceOnDefrag: true }, version);
  assert.deepEqual(render("3.6.16").gates, { StopGRPCServiceOnDefrag: true });
  assert.deepEqual(render("3.6.16").keys, {});
  assert.deepEqual(render("3.5.35").keys, { "experimental-stop-grpc-service-on-defrag": true });
  assert.deepEqual(render("3.5.35").gates, {});
  assert.equal(render("3.5.13").unsupported.length, 1);
  const both = renderArgs(
    { "experimental-stop-grpc-service-on-defrag": "false" },
    { StopGRPCServiceOnDefrag: true },
    "3.6.16",
  );
  assert.deepEqual(both.gates, { StopGRPCServiceOnDefrag: true });
  assert.equal(both.unsupported.length, 1);
  const wrong = renderArgs({ "experimental-stop-grpc-service-on-defrag": "maybe" }, {}, "3.6.16");
  assert.deepEqual([wrong.gates, wrong.unsupported.length], [{}, 1]);
  assert.equal(renderArgs({}, { FastLeaseKeepAlive: true }, "3.6.16").unsupported.length, 1);
});

test("times that are no whole milliseconds are rounded apart: the heartbeat down, the election up", () => {
  const options = { heartbeatInterval: "100.4ms", electionTimeout: "1000.4ms" };
  const record = recordOf("3.6.16", { options });
  const config = etcdConfig(record, { established: true, paths });
  assert.deepEqual([config["heartbeat-interval"], config["election-timeout"]], [100, 1001]);
});

test("a check of compacted hashes that the version has not is reported, where somebody asked for it", () => {
  const fields = (corruptCheck: object, version: string) =>
    unsupportedOptions(specOf({ options: { corruptCheck } }).options, version).map(({ field }) => field);
  const field = "options.corruptCheck.compactHashTime";
  assert.deepEqual(fields({ compactHashTime: "5m" }, "3.4.45"), [field]);
  assert.deepEqual(fields({}, "3.4.45"), []);
  assert.deepEqual(fields({ compactHash: false, compactHashTime: "5m" }, "3.4.45"), []);
  for (const version of ["3.5.35", "3.6.16", "3.7.3"])
    assert.deepEqual(fields({ compactHashTime: "5m" }, version), []);
  assert.deepEqual(fields({ compactHashTime: "0s" }, "3.6.16"), [field]);
  assert.deepEqual(fields({ compactHash: false, compactHashTime: "0s" }, "3.6.16"), []);
});
