/** Reads and rescues data directories on this machine, with the etcd of the member's own version. */
import { MAX_LEARNERS } from "../core/assess/learner-limit.ts";
import type { MemberDirectory } from "../core/observation.ts";
import { isFrom } from "../core/config/config-keys.ts";
import { ensureEtcd } from "../etcd/install/ensure.ts";
import { inspectDirectory } from "../recovery/directory.ts";
import { summaryOf } from "../recovery/summary.ts";
import type { ProcessWorld } from "../etcd/process.ts";
import type { Pki } from "../seams/pki.ts";
import type { Random } from "../seams/random.ts";
import type { Rescuer } from "./recovery.ts";

export function machineRescuer(around: {
  readonly world: ProcessWorld;
  readonly random: Random;
  readonly pki: Pki;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
}): Rescuer {
  const { world, env, signal } = around;
  return {
    inspect: async (dataDir): Promise<MemberDirectory> => {
      return summaryOf(await inspectDirectory(world.disk, dataDir));
    },
    rescue: async ({ dataDir, workDir, version, expected }) => {
      const { rescue } = await import("../recovery/rescue.ts");
      const { clusterID, memberID, term, index } = expected;
      const rescued = await rescue({
        ...around,
        dataDir,
        workDir,
        expected: { clusterID, memberID, last: { term, index } },
        etcd: await ensureEtcd(version, { env, clock: world.clock, signal }),
        // A log with several learners in it cannot be replayed under a lower limit (H1).
        flags: isFrom(version, "3.6") ? [`--max-learners=${MAX_LEARNERS}`] : [],
      });
      return { path: rescued.file, sha256: rescued.sha256, revision: rescued.revision };
    },
  };
}
