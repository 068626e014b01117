/** The operations of `quorate local` on a cluster that a test drives, as its controller carries them out. */
import { operations, type Subject } from "../../src/local/operations.ts";
import { systemDisk } from "../../src/seams/disk.ts";
import type { LocalCluster } from "./local-cluster.ts";

export function subjectOf(local: LocalCluster): Subject {
  const { platform, loop } = local.controller;
  return {
    layout: local.files,
    disk: systemDisk,
    platform,
    look: async () => {
      if (loop.latest === undefined) await local.pass();
      if (loop.latest === undefined) throw new Error("nothing was seen yet");
      return loop.latest;
    },
    wake: () => loop.wake(),
    transcript: () => loop.transcript.last(100),
    down: () => Promise.reject(new Error("a test ends its cluster itself")),
  };
}

export { operations };
