/** The small parts that arbitrary observations are made of: how often something is out of order, and what. */
import fc from "fast-check";
import type { Clash } from "../observation.ts";
import { NOW } from "./cluster.ts";

export const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
/** How seldom something is out of order. With more of it hardly any observation would get past the first rules. */
export const RARE = 24;
export const usually = <T>(usual: T, ...rare: fc.Arbitrary<T>[]): fc.Arbitrary<T> =>
  fc.oneof(
    { weight: RARE, arbitrary: fc.constant(usual) },
    ...rare.map((arbitrary) => ({ weight: 1, arbitrary })),
  );
export const mostly = usually(true, fc.constant(false));
export const seldom = usually(false, fc.constant(true));
export const past = fc.integer({ min: 0, max: 7_200_000 }).map((ms) => NOW - ms);

export const clash: fc.Arbitrary<Clash[]> = fc
  .constantFrom("cluster", "members", "users", "member")
  .map((concerns) => [
    { object: "Service demo", concerns, ...(concerns === "member" && { member: "demo-1" }) },
  ]);
