/** What holds for the configuration file whatever is asked for, also what the API would have refused. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { kindOf } from "./config-keys.ts";
import { etcdConfig, unsupportedOptions } from "./flags.ts";
import type { MemberRecord } from "../record.ts";
import { paths, recordOf, VERSIONS } from "../testing/record.ts";

const config = (record: MemberRecord, established = false) => etcdConfig(record, { established, paths });

describe("for any options, version and state", () => {
  const flags = fc.constantFrom(
    "max-wals",
    "enable-pprof",
    "force-new-cluster",
    "initial-cluster",
    "initial-cluster-state",
    "max-learners",
    "name",
    "unsafe-no-fsync",
    "experimental-initial-corrupt-check",
    "corrupt-check-time",
    "experimental-corrupt-check-time",
    "compaction-batch-limit",
    "experimental-compaction-batch-limit",
    "experimental-enable-lease-checkpoint",
    "experimental-stop-grpc-service-on-defrag",
    "snapshot-catchup-entries",
    "experimental-snapshot-catchup-entries",
    "socket-reuse-port",
    "no-such-flag",
  );
  const gates = fc.constantFrom(
    "LeaseCheckpoint",
    "StopGRPCServiceOnDefrag",
    "PriorityRequest",
    "NoSuchGate",
  );
  const options = fc.record({
    corruptCheck: fc.record({
      initial: fc.boolean(),
      compactHash: fc.boolean(),
      time: fc.constantFrom("0s", "1h"),
      compactHashTime: fc.constantFrom("30s", "1m"),
    }),
    maxConcurrentStreams: fc.option(fc.integer({ min: 1, max: 9 }), { nil: undefined }),
    // Anything, also what the API refuses: the file must be safe by itself.
    extraArgs: fc.dictionary(flags, fc.constantFrom("1", "true", "5s", "x"), { maxKeys: 6 }),
    featureGates: fc.dictionary(gates, fc.boolean(), { maxKeys: 3 }),
  });
  const anyRecord = fc
    .record({
      version: fc.constantFrom("3.4.0", ...VERSIONS, "3.5.0", "3.6.0", "3.7.0"),
      options,
      boot: fc.constantFrom("New" as const, "Join" as const),
      joined: fc.boolean(),
    })
    .map(({ version, options: given, boot, joined }) => {
      const record = recordOf(version, {}, { boot, joined });
      const merged = { ...record.template.options, ...given };
      return { ...record, template: { ...record.template, options: merged } };
    });

  test("every key is known to that version, and no text of a key is undefined", () => {
    fc.assert(
      fc.property(anyRecord, fc.boolean(), (record, established) => {
        for (const [key, value] of Object.entries(config(record, established))) {
          assert.ok(kindOf(key, record.template.version), `${key} on ${record.template.version}`);
          assert.notEqual(value, undefined, key);
        }
      }),
    );
  });

  test("no feature appears both as an experimental key and as a gate or without its prefix", () => {
    fc.assert(
      fc.property(anyRecord, (record) => {
        const keys = Object.keys(config(record));
        const experimental = keys.filter((key) => key.startsWith("experimental-"));
        for (const key of experimental) assert.ok(!keys.includes(key.replace("experimental-", "")), key);
        if (keys.includes("feature-gates")) assert.deepEqual(experimental, []);
      }),
    );
  });

  test("joined means self only and existing; new only before the cluster was seen (I3, I4)", () => {
    fc.assert(
      fc.property(anyRecord, fc.boolean(), (record, established) => {
        const file = config(record, established);
        if (record.joined) assert.equal(file["initial-cluster"], "demo-1=https://demo-1.demo:2380");
        const fresh = record.boot === "New" && !record.joined && !established;
        assert.equal(file["initial-cluster-state"], fresh ? "new" : "existing");
        assert.equal(file["force-new-cluster"], undefined);
        assert.equal(file["unsafe-no-fsync"], undefined);
      }),
    );
  });

  test("whatever extraArgs or gates ask for is in the file or in the list of what is not possible", () => {
    fc.assert(
      fc.property(anyRecord, (record) => {
        const { version, options: given } = record.template;
        const reported = new Set(unsupportedOptions(given, version).map(({ field }) => field));
        const file = config(record);
        const gatesText = String(file["feature-gates"] ?? "");
        for (const [flag, text] of Object.entries(given.extraArgs)) {
          if (reported.has(`options.extraArgs.${flag}`)) continue;
          const stem = flag.replace(/^experimental-/, "");
          const spellings = [stem, `experimental-${stem}`, "experimental-snapshot-catch-up-entries"];
          const rendered =
            spellings.some((key) => file[key] !== undefined) ||
            file["socket-options"] !== undefined ||
            /Checkpoint|Defrag|Corrupt/.test(gatesText);
          assert.ok(rendered, `${flag}=${text} on ${version}`);
        }
      }),
    );
  });
});
