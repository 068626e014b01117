/** Whether the version that the spec asks for can take over the data of a survivor: known before, not after. */
import { compareVersions, parseVersion } from "../version/version.ts";
import { UNFIT_VERSIONS } from "../messages/recovery-words.ts";
import type { View } from "../view.ts";
import type { RecoveryPlan } from "./recovery-plan.ts";

/** `etcdutl snapshot restore --bump-revision` (R24). */
const RAISES_REVISIONS = { major: 3, minor: 5, patch: 10 };

/** What is wrong with it, and what to do; undefined where nothing is. The first member is restored with that version. */
export function wrongVersion(view: View, { survivor }: RecoveryPlan): string | undefined {
  const [ran, wanted] = [survivor.record.template.version, view.spec.version];
  const [from, to] = [parseVersion(ran), parseVersion(wanted)];
  const isSameMinor = from && to && from.major === to.major && from.minor === to.minor;
  const raises = to && compareVersions(to, RAISES_REVISIONS) >= 0;
  if (isSameMinor && raises) return undefined;
  return isSameMinor ? UNFIT_VERSIONS.cannotRaise(wanted) : UNFIT_VERSIONS.otherMinor(survivor.name, ran);
}
