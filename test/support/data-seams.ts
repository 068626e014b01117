/** What restores, reads and rescues data directories in tests with real etcd: the product's own, on this machine. */
import process from "node:process";
import { machineRescuer } from "../../src/local/rescuer.ts";
import { machineFetcher, machineRestorer } from "../../src/local/restorer.ts";
import { createPki } from "../../src/pki/issue.ts";
import { systemClock } from "../../src/seams/clock.ts";
import { systemDisk } from "../../src/seams/disk.ts";
import { systemProcesses } from "../../src/seams/processes.ts";
import { systemRandom } from "../../src/seams/random.ts";

const { env } = process;

export const dataSeams = {
  restore: machineRestorer({ clock: systemClock, random: systemRandom, env }),
  fetch: machineFetcher({ clock: systemClock, random: systemRandom, env }),
  rescuer: machineRescuer({
    world: { disk: systemDisk, clock: systemClock, processes: systemProcesses },
    random: systemRandom,
    pki: createPki(systemClock, systemRandom),
    env,
    signal: new AbortController().signal,
  }),
};
