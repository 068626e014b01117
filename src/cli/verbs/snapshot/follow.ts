/** `quorate snapshot follow`: records all changes of a cluster beside its snapshots, until it is stopped. */
import { isEtcdError } from "../../../etcd/errors.ts";
import { follow, type FollowEvent } from "../../../snapshot/changes/follow.ts";
import type { BaseReason } from "../../../snapshot/changes/start.ts";
import { NoMemberError } from "../../../snapshot/choose.ts";
import { saveSnapshot } from "../../../snapshot/save.ts";
import { CommandError, EXIT } from "../../exit.ts";
import { UsageError, type CliIo } from "../../io.ts";
import { ENCODING_FLAGS, encodingOf } from "./encoding.ts";
import { ETCD_FLAGS, openEtcd } from "./etcd.ts";
import { FOLDER, KEY_FLAGS, locationOf, snapshotVerb, STORE_FLAGS } from "./flags.ts";
import { reportAfter } from "../../../snapshot/changes/report.ts";
import type { FollowReport } from "../../../core/snapshots/follower-facts.ts";
import { Reporter, REPORT_FLAGS } from "./reporter.ts";
import { reporting, RESULT_FLAGS } from "./result-file.ts";
import { reportSave, withProgress } from "./progress.ts";

const WHY: Readonly<Record<BaseReason, string>> = {
  none: "the folder has no snapshot with the present users and roles of the cluster",
  auth: "users or roles changed, or authentication was switched",
  compacted: "etcd has compacted changes that were not recorded yet",
  gap: "etcd did not send all changes",
  damaged: "the last segment of the change log is damaged",
};

export const verb = snapshotVerb(
  {
    name: "snapshot follow",
    summary: "record all changes of an etcd cluster beside its snapshots, to restore any point in time",
    about:
      "Watches all keys and writes what changed into the folder, in segments of whole revisions. It runs until it is stopped (SIGTERM or Ctrl-C), and continues where it ended when it is started again. Where there is no snapshot to begin with, or changes were lost (users or roles changed, etcd compacted them), it takes a new one. `snapshot build` makes the snapshot of any revision or time that was recorded. The user needs the role root where authentication is on.",
    arguments: [FOLDER],
    flags: {
      ...ETCD_FLAGS,
      interval: {
        kind: "duration",
        value: "duration",
        default: "30s",
        help: "write what has changed this often; what was not written yet is lost with the cluster",
      },
      "await-base": {
        kind: "switch",
        help: "take no snapshot, but wait until another program has put one into the folder",
      },
      ...REPORT_FLAGS,
      "result-file": RESULT_FLAGS["result-file"],
      ...ENCODING_FLAGS,
      ...KEY_FLAGS,
      ...STORE_FLAGS,
    },
    examples: [
      {
        does: "Follow any etcd into a bucket",
        line: "snapshot follow --endpoints https://10.0.0.1:2379 --cacert ca.pem --cert client.pem --key client-key.pem s3://backups/prod/",
      },
      {
        does: "Lose ten seconds at most, of a cluster on this machine",
        line: "snapshot follow --local --interval 10s ./backups/",
      },
    ],
  },
  async ({ args, flags }, io) =>
    await reporting(flags["result-file"], io, async () => {
      if (flags.interval < 1000) throw new UsageError("--interval: use at least 1s");
      const encoding = await encodingOf(flags, io);
      const { store } = await locationOf(args.folder, flags, io, { folder: true });
      await using reporter = await Reporter.start<FollowReport>({ state: "starting" }, flags, io);
      const { client, refresh, close } = await openEtcd(flags, io);
      const shared = { client, store, ...encoding, clock: io.clock, random: io.random, signal: io.signal };
      try {
        await follow({
          ...shared,
          intervalMs: flags.interval,
          takeBase: flags["await-base"]
            ? undefined
            : async () => {
                await withProgress(io, "Saving", async (progress) => {
                  const manifest = await saveSnapshot({
                    ...shared,
                    name: "",
                    progress: (event) => reportSave(event, progress, io),
                  });
                  io.stderr.write(`Took ${store.uri}${manifest.object}, revision ${manifest.revision}\n`);
                });
              },
          progress: (event) => {
            report(event, io);
            reporter.report(reportAfter(reporter.last, event));
            if (event.kind === "retry") void refresh();
          },
        });
        return undefined;
      } catch (error) {
        if (error instanceof NoMemberError || isEtcdError(error))
          throw new CommandError(EXIT.failed, error.message, { cause: error });
        throw error;
      } finally {
        await close();
      }
    }),
);

function report(event: FollowEvent, io: CliIo): void {
  const line = (text: string) => void io.stderr.write(`${text}\n`);
  if (event.kind === "start") {
    const { clusterId, after, base, resumed } = event.start;
    line(
      `Following cluster ${clusterId} after revision ${after}, ${resumed ? "where the change log ends" : `that of ${base}`}`,
    );
  } else if (event.kind === "segment")
    line(`Recorded revisions ${event.first} to ${event.last} in ${event.name}`);
  else if (event.kind === "base")
    line(
      `A new snapshot is needed, since ${WHY[event.reason]}${event.waitMs > 0 ? `; taking it in ${Math.ceil(event.waitMs / 1000)} s` : ""}`,
    );
  else if (event.kind === "retry") line(`${event.error.message}; trying again`);
}
