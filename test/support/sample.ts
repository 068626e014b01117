/**
 * Where many cases show one behaviour, `npm test` takes a sample of them; `npm run e2e -- --all` takes all.
 */
import process from "node:process";
import { newestVersions } from "./etcd-versions.ts";

export const EVERY_CASE = process.env["QUORATE_ALL"] === "1";

/** For what is the same in all of them: the versions of which each shows it again. */
export const sampledVersions: readonly string[] = sampled(newestVersions);

/** For what may change from minor to minor: the oldest and the newest; those between are what most other tests run. */
export const outerVersions: readonly string[] = EVERY_CASE
  ? newestVersions
  : newestVersions.filter((_, index) => index === 0 || index === newestVersions.length - 1);

/** The last of them, which is the newest of versions, or all. */
export function sampled<T>(all: readonly T[]): readonly T[] {
  return EVERY_CASE ? all : all.slice(-1);
}
