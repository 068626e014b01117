/** The newest pinned patch of each supported minor, oldest first. */
import { etcdPins } from "../../src/etcd/versions.ts";

export const newestVersions: readonly string[] = etcdPins
  .filter(({ role }) => role === "newest")
  .map(({ version }) => version)
  .toReversed();
