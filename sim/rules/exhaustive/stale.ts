/**
 * An operator that decides on what was: after a step of the world, or of its predecessor, one object is seen as it
 * was before. Records, workloads, volumes and the cluster come from caches; etcd is asked anew on every pass.
 */
import type { Member, State } from "./state.ts";

export interface StaleView {
  readonly object: string;
  readonly seen: State;
}

type Part = readonly (keyof Member)[];

const RECORD: Part = [
  "peers",
  "knowsID",
  "permitted",
  "joined",
  "run",
  "template",
  "retiring",
  "requested",
  "stamped",
  "leaving",
  "deleting",
];
const WORKLOAD: Part = ["process", "from"];
const VOLUME: Part = ["volume"];

/** Every way to see `after` with one object as it was in `before`. */
export function staleViews(before: State, after: State): StaleView[] {
  const views: StaleView[] = [];
  if (before.spec !== after.spec || before.deleting !== after.deleting || before.marks !== after.marks) {
    const { spec, deleting, marks } = before;
    views.push({ object: "the cluster", seen: { ...after, spec, deleting, marks } });
  }
  const { operation, waiting } = before;
  if (JSON.stringify([operation, waiting]) !== JSON.stringify([after.operation, after.waiting]))
    views.push({ object: "the operations", seen: { ...after, operation, waiting } });
  for (const old of before.members) {
    const now = after.members.find(({ ordinal }) => ordinal === old.ordinal);
    const name = `demo-${old.ordinal}`;
    if (!now) {
      const members = [...after.members, old].toSorted((a, b) => a.ordinal - b.ordinal);
      views.push({ object: `the record of ${name}`, seen: { ...after, members } });
      continue;
    }
    if (old === now) continue;
    for (const [word, part] of [
      ["record", RECORD],
      ["workload", WORKLOAD],
      ["volume", VOLUME],
    ] as const) {
      if (part.every((field) => JSON.stringify(old[field]) === JSON.stringify(now[field]))) continue;
      const mixed = { ...now, ...Object.fromEntries(part.map((field) => [field, old[field]])) };
      const members = after.members.map((member) => (member === now ? mixed : member));
      views.push({ object: `the ${word} of ${name}`, seen: { ...after, members } });
    }
  }
  for (const fresh of after.members) {
    if (before.members.some(({ ordinal }) => ordinal === fresh.ordinal)) continue;
    const members = after.members.filter((member) => member !== fresh);
    views.push({ object: `the record of demo-${fresh.ordinal}`, seen: { ...after, members } });
  }
  return views;
}
