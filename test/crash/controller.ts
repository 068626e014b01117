/**
 * The local platform's own controller over this machine's seams, for a cluster that a test asked for: what
 * `quorate local up` is without its terminal. It makes the cluster's file when there is none.
 */
import process from "node:process";
import type { EtcdClusterSpec } from "../../src/api/etcd-cluster-spec.ts";
import type { Pass } from "../../src/control/loop.ts";
import { describeEntry } from "../../src/control/transcript.ts";
import { viewOf, type View } from "../../src/core/view.ts";
import { GrpcTransport } from "../../src/etcd/grpc/transport.ts";
import { HttpProbe } from "../../src/etcd/probe.ts";
import { Controller } from "../../src/local/controller.ts";
import type { Layout } from "../../src/local/layout.ts";
import { Store } from "../../src/local/store.ts";
import { createPki } from "../../src/pki/issue.ts";
import { systemClock } from "../../src/seams/clock.ts";
import { systemDisk } from "../../src/seams/disk.ts";
import { systemPorts } from "../../src/seams/ports.ts";
import { systemProcesses } from "../../src/seams/processes.ts";
import { systemRandom } from "../../src/seams/random.ts";
import { etcdOf } from "../support/etcd-cluster.ts";
import { dataSeams } from "../support/data-seams.ts";
import { tellDisk, tellProcesses, tellTransport, type OnEffect } from "./effects.ts";

export const CLUSTER = "demo";

export interface ClusterRequest {
  readonly spec: EtcdClusterSpec;
  readonly basePort: number;
}

export interface ChildRequest extends ClusterRequest {
  readonly dir: string;
  readonly timeoutMs: number;
  /** Which effect is the last; 0: none is. */
  readonly crashAfter: number;
}

export interface OpenController {
  readonly controller: Controller;
  /** Runs until the cluster is as its present spec says. */
  converge(timeoutMs: number): Promise<View>;
  /** Lets go of the directory; the members run on. */
  close(): Promise<void>;
}

export const storeSeams = { disk: systemDisk, clock: systemClock, random: systemRandom };

export async function openController(
  files: Layout,
  { spec, basePort }: ClusterRequest,
  onEffect: OnEffect = () => undefined,
): Promise<OpenController> {
  const grpc = new GrpcTransport({ clock: systemClock });
  const probe = new HttpProbe();
  const disk = tellDisk(systemDisk, files.dir, onEffect);
  const story: string[] = [];
  let onPass: ((pass: Pass) => void) | undefined;
  await disk.makeDirectory(files.dir);
  const controller = await Controller.open({
    layout: files,
    seams: {
      ...storeSeams,
      disk,
      ports: systemPorts,
      pki: createPki(systemClock, systemRandom),
      env: { PATH: process.env["PATH"] },
      processes: tellProcesses(systemProcesses, onEffect),
      transport: tellTransport(grpc, onEffect),
      probe,
      ...dataSeams,
    },
    install: async (version) => (await etcdOf(version)).etcd,
    socket: "",
    onCredentials: (credentials) => {
      grpc.setCredentials(credentials);
      probe.setCredentials(credentials);
    },
    onPass: (pass) => onPass?.(pass),
    onStep: (entry) => story.push(describeEntry(entry)),
    onTrouble: (error) => story.push(`trouble: ${String(error)}`),
  });
  const store = new Store(files, { ...storeSeams, disk });
  if ((await store.cluster()) === undefined) await store.createCluster(CLUSTER, spec, basePort);
  return {
    controller,
    converge: async (timeoutMs) => {
      const stop = new AbortController();
      const timer = setTimeout(() => stop.abort(), timeoutMs);
      let converged: View | undefined;
      onPass = ({ decision, observation }) => {
        if (!decision.converged) return;
        converged = viewOf(observation);
        stop.abort();
      };
      await controller.run(stop.signal);
      clearTimeout(timer);
      if (converged) return converged;
      const holds = controller.loop.latest?.decision.holds.map(({ message }) => message) ?? [];
      throw new Error(`not converged within ${timeoutMs} ms\n${[...story, ...holds].join("\n")}`);
    },
    close: async () => {
      await controller.close({ stopMembers: false });
      probe.close();
    },
  };
}
