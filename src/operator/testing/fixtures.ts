/**
 * Recorded Kubernetes objects, as an API server gave them: one healthy cluster in full, and for each trouble
 * only what differs from it. `test/testbed/pods.test.ts` makes every one of them happen for real and
 * writes them anew with QUORATE_RECORD=1.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ClusterObjects } from "../observe/observe-objects.ts";

export type Kinds = Exclude<keyof ClusterObjects, "cluster">;

export interface Fixture {
  /** When it was read. */
  readonly now: number;
  readonly objects: ClusterObjects;
}

/** Objects in place of those of the same name, and names of those that are gone. */
interface Difference {
  readonly now: number;
  readonly changed: Partial<Record<Kinds, readonly Named[]>>;
  readonly gone?: Partial<Record<Kinds, readonly string[]>>;
}

type Named = { metadata?: { name?: string; managedFields?: unknown } };

export function fixture(name: string): Fixture {
  return read<Fixture>(name);
}

/** The healthy cluster with this trouble in it. */
export function troubled(name: string): Fixture {
  const { now, changed, gone = {} } = read<Difference>(name);
  const { objects } = fixture("healthy");
  const merged = Object.entries(objects).map(([kind, present]) => {
    if (!Array.isArray(present)) return [kind, present];
    const replaced = changed[kind as Kinds] ?? [];
    const names = new Set([...replaced.map(nameOf), ...(gone[kind as Kinds] ?? [])]);
    return [kind, [...(present as Named[]).filter((object) => !names.has(nameOf(object))), ...replaced]];
  });
  return { now, objects: Object.fromEntries(merged) as ClusterObjects };
}

export function record(name: string, content: Fixture | Difference): void {
  const text = JSON.stringify(
    content,
    (key, value: unknown) => (key === "managedFields" ? undefined : value),
    2,
  );
  writeFileSync(file(name), `${text}\n`);
}

function read<T>(name: string): T {
  return JSON.parse(readFileSync(file(name), "utf8")) as T;
}

function file(name: string): string {
  return join(import.meta.dirname, `${name}.json`);
}

function nameOf({ metadata }: Named): string {
  return metadata?.name ?? "";
}
