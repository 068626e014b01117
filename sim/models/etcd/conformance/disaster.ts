/**
 * The loss of a whole cluster, and what etcd's own tools make of what is left: a snapshot restored by etcdutl, with and
 * without a raised revision, and a start with --force-new-cluster. Both sides have to agree on all that came back.
 */
import type { SeededRandom } from "../../../engine/random.ts";
import type { Call } from "./calls.ts";
import { nextCall, watchFrom, type PlannedCall } from "./choose.ts";
import { configOf, leaderOf, serving, type Ground } from "./ground.ts";
import type { Life } from "./life.ts";
import type { Side, Slot } from "./side.ts";

export type Disaster = "restored" | "restored with a raised revision" | "forced";

/** In turn, so that a few of them are all. */
const DISASTERS: readonly Disaster[] = ["restored with a raised revision", "forced", "restored"];

/** Far above the revision of any round. */
const BUMP = 1_000_000;
const LOST_CALLS = 6;

export interface DisasterRun {
  readonly ground: () => Ground;
  /** The same on both sides, which then have to come to the same rest. */
  readonly live: (life: Life) => Promise<void>;
  readonly call: (planned: PlannedCall) => Promise<void>;
  readonly caughtUp: (slot: Slot) => Promise<void>;
  /** What follows is about a cluster of this member alone; `hashes`: what members hashed before is to be seen again. */
  readonly begin: (ground: Ground, hashes: "kept" | "forgotten") => void;
}

/** False where there is nothing to start from now. */
export async function disaster(count: number, random: SeededRandom, run: DisasterRun): Promise<boolean> {
  const ground = run.ground();
  const survivor = survivorOf(random, ground);
  if (!survivor) return false;
  const kind = DISASTERS[count % DISASTERS.length] ?? "forced";
  const token = `${ground.token}, ${kind} ${count}`;
  if (kind === "forced") await force(run, survivor);
  else await restore(run, random, { survivor, token, bump: kind === "restored" ? 0 : BUMP });
  return true;
}

/** A voter that has heard of all that is committed. What a downgrade leaves half done is not of interest here. */
function survivorOf(random: SeededRandom, ground: Ground): Slot | undefined {
  const leader = leaderOf(ground);
  const state = leader && ground.model.server(leader)?.dir.state;
  if (!state || state.downgrade !== undefined) return undefined;
  const able = serving(ground).filter((slot) => {
    const server = ground.model.server(slot);
    return server?.synced === true && !server.isLearner && server.dir.state === server.dir.state;
  });
  return able.length === 0 ? undefined : random.pick(able);
}

async function restore(
  run: DisasterRun,
  random: SeededRandom,
  { survivor, token, bump }: { readonly survivor: Slot; readonly token: string; readonly bump: number },
): Promise<void> {
  const { version } = run.ground();
  await run.caughtUp(survivor);
  const saved = revisionOf(run.ground(), survivor);
  // A restored copy has the same hash where nothing was added to it.
  if (bump === 0) await run.call({ slot: survivor, call: { kind: "hash", revision: saved } });
  await run.live({ text: `snapshot of ${survivor.name}`, run: (side) => side.save(survivor, version) });
  for (let i = 0; i < LOST_CALLS; i++) {
    const lost = nextCall(random, run.ground());
    if (lost && isOfKeys(lost.call)) await run.call(lost);
  }
  const lost = Math.max(saved, revisionOf(run.ground(), survivor));
  const ground = { ...run.ground(), founders: [survivor], token };
  const config = configOf(ground, survivor, { state: "existing", cluster: [survivor] });
  run.begin(ground, bump === 0 ? "kept" : "forgotten");
  await run.live({
    text: `all is lost, and ${survivor.name} restored from the snapshot with ${token}`,
    async run(side) {
      await lose(side, ground.slots);
      await side.restore(survivor, { version, token, bump });
      await side.start(survivor, { version, config });
    },
  });
  await lookAround(run, survivor, lost);
  if (bump === 0) await run.call({ slot: survivor, call: { kind: "hash", revision: saved } });
  run.begin(ground, "forgotten");
}

async function force(run: DisasterRun, survivor: Slot): Promise<void> {
  await run.caughtUp(survivor);
  const before = revisionOf(run.ground(), survivor);
  const ground = { ...run.ground(), founders: [survivor] };
  const { version } = ground;
  const config = configOf(ground, survivor, { state: "existing", cluster: [survivor] });
  run.begin(ground, "kept");
  await run.live({
    text: `all but ${survivor.name} are lost, and it starts with --force-new-cluster`,
    async run(side) {
      // It ends first, and so has written all that it heard.
      await side.stop(survivor, "SIGTERM");
      await lose(
        side,
        ground.slots.filter((slot) => slot !== survivor),
      );
      await side.start(survivor, { version, config: { ...config, "force-new-cluster": true } });
    },
  });
  await lookAround(run, survivor, before);
  await run.live({
    text: `${survivor.name} starts again without it`,
    async run(side) {
      await side.stop(survivor, "SIGTERM");
      await side.start(survivor, { version, config });
    },
  });
  await lookAround(run, survivor, before);
}

async function lose(side: Side, slots: readonly Slot[]): Promise<void> {
  for (const slot of slots) {
    await side.stop(slot, "SIGKILL");
    side.wipe(slot);
  }
}

/** What a client, a watcher and the operator see first. `revision`: what a watcher had seen before. */
async function lookAround(run: DisasterRun, slot: Slot, revision: number): Promise<void> {
  const calls: readonly Call[] = [
    { kind: "status" },
    { kind: "list", linearizable: true },
    { kind: "range", key: "\0", end: "\0", revision: 0, limit: 0, serializable: false, only: "all" },
    watchFrom(run.ground(), slot, revision),
    { kind: "alarm", action: "GET", id: "0", alarm: "NOSPACE" },
    { kind: "auth", op: { do: "status" } },
    { kind: "auth", op: { do: "user-list" } },
  ];
  for (const call of calls) await run.call({ slot, call });
}

function revisionOf({ model }: Ground, slot: Slot): number {
  return model.server(slot)?.dir.state.revision ?? 1;
}

function isOfKeys({ kind }: Call): boolean {
  return kind === "put" || kind === "txn" || kind === "delete";
}
