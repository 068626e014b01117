/**
 * This machine behind the seams: everything that a controller or a verb needs to work on a real cluster.
 */
import { ensureEtcd } from "../etcd/install/ensure.ts";
import type { OnProgress } from "../etcd/install/progress.ts";
import { GrpcTransport } from "../etcd/grpc/transport.ts";
import { HttpProbe } from "../etcd/probe.ts";
import { createPki } from "../pki/issue.ts";
import type { Clock } from "../seams/clock.ts";
import { systemDisk } from "../seams/disk.ts";
import { systemPorts } from "../seams/ports.ts";
import { systemProcesses } from "../seams/processes.ts";
import type { Random } from "../seams/random.ts";
import type { Installer } from "./binaries.ts";
import type { ClientCredentials } from "./certificates.ts";
import type { LocalSeams } from "./platform.ts";
import type { Program } from "./snapshot-jobs.ts";
import { machineRescuer } from "./rescuer.ts";
import { machineFetcher, machineRestorer } from "./restorer.ts";

export interface Machine {
  readonly seams: LocalSeams;
  readonly install: Installer;
  readonly onCredentials: (credentials: ClientCredentials) => void;
}

export interface Surroundings {
  readonly clock: Clock;
  readonly random: Random;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  readonly command?: string;
  /** How this program is started once more. */
  readonly program?: Program;
}

/** A way to etcd of its own, with other credentials. */
export function connectWith(clock: Clock): NonNullable<LocalSeams["connect"]> {
  return (credentials) => {
    const transport = new GrpcTransport({ clock });
    transport.setCredentials(credentials);
    return transport;
  };
}

export function thisMachine({ clock, random, env, signal, command, program }: Surroundings): Machine {
  const transport = new GrpcTransport({ clock });
  const probe = new HttpProbe();
  const pki = createPki(clock, random);
  const world = { processes: systemProcesses, disk: systemDisk, clock };
  return {
    seams: {
      clock,
      random,
      env,
      ...(command !== undefined && { command }),
      disk: systemDisk,
      processes: systemProcesses,
      ports: systemPorts,
      pki,
      transport,
      probe,
      rescuer: machineRescuer({ world, random, pki, env, signal }),
      restore: machineRestorer({ clock, random, env }),
      fetch: machineFetcher({ clock, random, env }),
      connect: connectWith(clock),
      ...(program && { program }),
    },
    install: async (version, tell) => {
      const progress: OnProgress = ({ text }) => tell(text);
      return (await ensureEtcd(version, { env, clock, signal, progress })).etcd;
    },
    onCredentials: (credentials) => {
      transport.setCredentials(credentials);
      probe.setCredentials(credentials);
    },
  };
}
