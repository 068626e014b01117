/** `quorate recover copy` and `save`: the steps of a recovery on the survivor's volume, before and beside etcd. */
import { systemDisk } from "../../../seams/disk.ts";
import { resultOf } from "../../../snapshot/result.ts";
import { UsageError } from "../../io.ts";
import { plainVerb } from "../../verb.ts";
import type { Flags } from "../../flag.ts";
import { reporting, RESULT_FLAGS } from "../snapshot/result-file.ts";

const VOLUME = { name: "volume", help: "directory of the volume", complete: "file" } as const;

const SHARED = {
  plan: { kind: "text", value: "hash", help: "the approved plan" },
  by: { kind: "text", value: "uid", help: "of the Pod: names the directory of its copy" },
  index: { kind: "text", value: "number", help: "raft index of the last entry of its log" },
  "tls-dir": {
    kind: "text",
    value: "directory",
    help: "for certificates that only the containers of this Pod have",
  },
  "result-file": RESULT_FLAGS["result-file"],
} as const satisfies Flags;

export const copy = plainVerb(
  {
    name: "recover copy",
    summary: "copy a stopped member's data for a recovery",
    about:
      "The operator runs it in the Pod of a recovery, on the volume of the survivor. <volume>/data is read and compared with the approved plan. The copy in <volume>/recovery/<plan> gets its whole log marked as committed; etcd then runs on it once with --force-new-cluster.",
    arguments: [VOLUME],
    flags: {
      ...SHARED,
      "cluster-id": { kind: "text", value: "id", help: "etcd's ID of the cluster, in hexadecimal" },
      "member-id": { kind: "text", value: "id", help: "etcd's ID of the member, in hexadecimal" },
      term: { kind: "text", value: "number", help: "raft term of the last entry of its log" },
    },
    examples: [
      {
        does: "As the operator calls it",
        line: "recover copy /var/lib/etcd --plan 51f0a3c2d4e5b697 --by 0b5e7d4c --cluster-id 4a5d1c3e0f9b2d61 --member-id 8e9e05c52164694d --term 4 --index 2817 --tls-dir /run/quorate",
      },
    ],
  },
  async ({ args, flags }, io) => {
    await reporting(flags["result-file"], io, async () => {
      const [{ copyStep }, { createPki }] = await Promise.all([
        import("../../../recovery/rescue-steps.ts"),
        import("../../../pki/issue.ts"),
      ]);
      const last = {
        term: number("term", given("term", flags.term)),
        index: number("index", given("index", flags.index)),
      };
      await copyStep({
        volume: args.volume,
        plan: planOf(flags.plan),
        by: uidOf(flags.by),
        expected: {
          clusterID: given("cluster-id", flags["cluster-id"]),
          memberID: given("member-id", flags["member-id"]),
          last,
        },
        tlsDir: given("tls-dir", flags["tls-dir"]),
        disk: systemDisk,
        pki: createPki(io.clock, io.random),
      });
      io.stdout.write("Copied.\n");
      return undefined;
    });
  },
);

export const save = plainVerb(
  {
    name: "recover save",
    summary: "take the snapshot of a recovery from the etcd that runs on the copy",
    about:
      "The operator runs it in the Pod of a recovery, beside etcd. When etcd serves alone and has every entry of the log, its snapshot becomes <volume>/recovery/<plan>/snapshot.db.",
    arguments: [VOLUME],
    flags: {
      ...SHARED,
      endpoint: { kind: "text", value: "url", help: "where the etcd on the copy serves" },
    },
    examples: [
      {
        does: "As the operator calls it",
        line: "recover save /var/lib/etcd --plan 51f0a3c2d4e5b697 --by 0b5e7d4c --index 2817 --endpoint https://127.0.0.1:2379 --tls-dir /run/quorate",
      },
    ],
  },
  async ({ args, flags }, io) => {
    await reporting(flags["result-file"], io, async () => {
      const { saveStep } = await import("../../../recovery/rescue-steps.ts");
      const manifest = await saveStep({
        volume: args.volume,
        plan: planOf(flags.plan),
        by: uidOf(flags.by),
        index: number("index", given("index", flags.index)),
        url: given("endpoint", flags.endpoint),
        tlsDir: given("tls-dir", flags["tls-dir"]),
        disk: systemDisk,
        clock: io.clock,
        random: io.random,
        signal: io.signal,
      });
      io.stdout.write(`Saved with revision ${manifest.revision}.\n`);
      return { snapshot: resultOf(manifest.object, manifest) };
    });
  },
);

function given(flag: string, value: string | undefined): string {
  if (!value) throw new UsageError(`--${flag} is missing`);
  return value;
}

function number(flag: string, text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new UsageError(`--${flag} must be a number, not ${text}`);
  return Number(text);
}

/** It names a directory. */
function planOf(text: string | undefined): string {
  const plan = given("plan", text);
  if (!/^[0-9a-f]{16}$/.test(plan)) throw new UsageError(`--plan must be the hash of a plan, not ${plan}`);
  return plan;
}

/** So does this. */
function uidOf(text: string | undefined): string {
  const uid = given("by", text);
  if (!/^[\w-]{1,64}$/.test(uid)) throw new UsageError(`--by must be the UID of a Pod, not ${uid}`);
  return uid;
}
