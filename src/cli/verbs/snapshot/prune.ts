/** `quorate snapshot prune`: deletes what a retention policy does not keep. */
import { planPrune, prune } from "../../../snapshot/prune.ts";
import { PERIODS } from "../../../snapshot/retention.ts";
import { confirm } from "../../act/confirm.ts";
import { UsageError } from "../../io.ts";
import { formatted } from "../../output.ts";
import { pruneLines } from "../../screen/snapshots.ts";
import { FOLDER, locationOf, snapshotVerb, STORE_FLAGS } from "./flags.ts";

const count = (help: string) => ({ kind: "number", value: "n", default: 0, help }) as const;

export const verb = snapshotVerb(
  {
    name: "snapshot prune",
    summary: "delete snapshots that a retention policy does not keep",
    about:
      "Of each period the newest snapshot is kept, for so many periods (UTC) that have one. Each cluster in the folder is judged separately; folders below it are left alone, whatever they hold. Only complete snapshots with a manifest are ever deleted: never the newest one of a cluster, never a file without a manifest, never a damaged one, and never an import without a cluster ID. What a killed write left in a directory is deleted a day after its last byte. Of a change log, what lies before the oldest snapshot that is kept goes with them.",
    arguments: [FOLDER],
    flags: {
      "keep-last": count("keep the last n snapshots"),
      hourly: count("keep one for each of n hours"),
      daily: count("keep one for each of n days"),
      weekly: count("keep one for each of n weeks"),
      monthly: count("keep one for each of n months"),
      yearly: count("keep one for each of n years"),
      "dry-run": { kind: "switch", help: "show what would be deleted and delete nothing" },
      ...STORE_FLAGS,
    },
    groups: ["confirm", "output"],
    examples: [
      {
        does: "See what a policy would delete",
        line: "snapshot prune --keep-last 3 --hourly 24 --daily 7 --weekly 5 --monthly 12 --dry-run s3://backups/prod/",
      },
    ],
  },
  async ({ args, flags }, io) => {
    const policy = {
      keepLast: flags["keep-last"],
      hourly: flags.hourly,
      daily: flags.daily,
      weekly: flags.weekly,
      monthly: flags.monthly,
      yearly: flags.yearly,
    };
    const wrong = Object.entries(policy).find(([, n]) => !Number.isSafeInteger(n) || n < 0);
    if (wrong) throw new UsageError(`a retention of ${wrong[1]} is not a whole number of at least 0`);
    if ([policy.keepLast, ...PERIODS.map((period) => policy[period])].every((n) => n === 0))
      throw new UsageError("the policy keeps nothing: pass --keep-last or one of --hourly to --yearly");
    const { store } = await locationOf(args.folder, flags, io, { folder: true });
    const plan = await planPrune(store, "", policy, io.clock.now(), io.signal);
    const goes = plan.verdicts.filter(({ keep }) => keep.length === 0);
    const text = () => pruneLines(plan).join("\n");
    const data = {
      delete: goes.map(({ entry }) => entry.name),
      keep: plan.verdicts.flatMap(({ entry, keep }) =>
        keep.length > 0 ? [{ name: entry.name, because: keep }] : [],
      ),
      untouched: plan.untouched.map(({ name, state }) => ({ name, state })),
      leftovers: plan.leftovers.map(({ name, size, modifiedAt }) => ({ name, size, modifiedAt })),
      changes: plan.changes,
    };
    io.stdout.write(await formatted({ data, text }, flags.output));
    if (
      flags["dry-run"] ||
      goes.length + plan.orphans.length + plan.leftovers.length + plan.changes.length === 0
    )
      return;
    await confirm(io, flags, {
      change: `Delete ${goes.length} of ${plan.verdicts.length} snapshots in ${store.uri}`,
      risk: "they cannot be brought back",
    });
    await prune(store, plan, io.signal, ({ name }) => void io.stderr.write(`Deleted ${name}\n`));
  },
);
