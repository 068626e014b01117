/** Every scenario, and those that mean something on a kind of platform. */
import { downgrade, storage, upgrade } from "./change.ts";
import { operations } from "./operations.ts";
import { outage, quorumLoss, replace } from "./harm.ts";
import type { PlatformKind, Scenario } from "./platform.ts";
import { create, hibernate, scale } from "./size.ts";

const scenarios: readonly Scenario[] = [
  create,
  scale,
  replace,
  upgrade,
  downgrade,
  hibernate,
  storage,
  outage,
  quorumLoss,
  operations,
];

export function scenariosFor(kind: PlatformKind): readonly Scenario[] {
  return scenarios.filter(({ only }) => only === undefined || only === kind);
}
