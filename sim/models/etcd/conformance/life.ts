/**
 * Random lives: processes are stopped, started again, started with what they should not be started with. What becomes
 * of them is compared when both sides have come to rest.
 */
import type { SeededRandom } from "../../../engine/random.ts";
import { configOf, leaderOf, membersOf, serving, slotOf, type Boot, type Ground } from "./ground.ts";
import type { Side, Slot } from "./side.ts";

export interface Life {
  readonly text: string;
  run(side: Side): Promise<void>;
}

type Weighed = readonly [weight: number, life: Life];

export function stopped(slot: Slot, signal: "SIGTERM" | "SIGKILL"): Life {
  return { text: `${signal} ${slot.name}`, run: (side) => side.stop(slot, signal) };
}

export function started(ground: Ground, slot: Slot, boot: Boot, how: { wiped?: boolean; as: string }): Life {
  const { version } = ground;
  const config = configOf(ground, slot, boot);
  return {
    text: `start ${slot.name} ${how.as}`,
    async run(side) {
      await side.stop(slot, "SIGKILL");
      if (how.wiped) side.wipe(slot);
      await side.start(slot, { version, config });
    },
  };
}

/** The members by the slots they live in, as a joiner must name them. */
function listOf(ground: Ground): Slot[] {
  return membersOf(ground).flatMap((member) => slotOf(ground, member) ?? []);
}

function onOwnData(ground: Ground, slot: Slot): Weighed[] {
  const self = [slot];
  return [
    [8, started(ground, slot, { state: "existing", cluster: self }, { as: "again" })],
    // R4: with data there, none of this is looked at.
    [
      1,
      started(
        ground,
        slot,
        { state: "new", cluster: ground.founders.includes(slot) ? ground.founders : self, token: "another" },
        { as: "again, as new and with another token" },
      ),
    ],
  ];
}

function withoutData(ground: Ground, slot: Slot): Weighed[] {
  const list = listOf(ground);
  const belongs = list.includes(slot);
  const full = belongs ? list : [...list, slot];
  const others = full.filter((one) => one !== slot);
  const stranger = ground.slots.find((one) => !full.includes(one));
  const begin = (weight: number, boot: Boot, as: string): Weighed => [
    weight,
    started(ground, slot, boot, { wiped: true, as: `empty, ${as}` }),
  ];
  const founders = ground.founders.includes(slot) && ground.founders.length > 1;
  return [
    ...(others.length > 0 && leaderOf(ground)
      ? [
          begin(belongs ? 3 : 1, { state: "existing", cluster: full }, "existing with the whole list"),
          ...(full.length > 2
            ? [begin(1, { state: "existing", cluster: [...others.slice(1), slot] }, "existing, one missing")]
            : []),
          ...(stranger && others.length > 1
            ? [
                begin(
                  1,
                  { state: "existing", cluster: [...others.slice(1), stranger, slot] },
                  "existing, one wrong",
                ),
              ]
            : []),
          begin(1, { state: "existing", cluster: others }, "existing without itself"),
        ]
      : []),
    begin(1, { state: "existing", cluster: [slot] }, "existing, itself alone"),
    ...(founders && leaderOf(ground)
      ? [
          begin(1, { state: "new", cluster: ground.founders }, "new with the founders"),
          begin(1, { state: "new", cluster: ground.founders, token: "another" }, "new with another token"),
        ]
      : []),
  ];
}

/** Brings back what was stopped, if there is any with data. */
export function revival(random: SeededRandom, ground: Ground): Life | undefined {
  const down = ground.slots.filter(
    (slot) => !ground.model.server(slot) && ground.model.disk.dirs.has(slot.name) && isMember(ground, slot),
  );
  if (down.length === 0) return undefined;
  const slot = random.pick(down);
  return started(ground, slot, { state: "existing", cluster: [slot] }, { as: "again" });
}

function isMember({ model }: Ground, slot: Slot): boolean {
  const id = model.disk.dirs.get(slot.name)?.memberID;
  return ![...model.disk.dirs.values()].some(({ state }) => id !== undefined && state.removed.has(id));
}

export function nextLife(random: SeededRandom, ground: Ground): Life | undefined {
  const candidates: Weighed[] = [];
  const list = listOf(ground);
  for (const slot of ground.slots) {
    if (ground.model.server(slot)) {
      if (!serving(ground).includes(slot)) continue;
      // Mostly one at a time; a lost quorum is rarer, as it ends most of what can be compared.
      const down = list.some((one) => !ground.model.server(one));
      const weight = down ? 0.5 : 3;
      candidates.push([weight, stopped(slot, "SIGTERM")], [weight, stopped(slot, "SIGKILL")]);
    } else {
      const hasData = ground.model.disk.dirs.has(slot.name);
      if (hasData) candidates.push(...onOwnData(ground, slot));
      if (!hasData || random.chance(0.3)) candidates.push(...withoutData(ground, slot));
    }
  }
  let left = random.fraction() * candidates.reduce((sum, [weight]) => sum + weight, 0);
  for (const [weight, life] of candidates) if ((left -= weight) < 0) return life;
  return undefined;
}
