/** The two subjects that operations work on: a running controller, and a directory without one. */
import { Forecast } from "../control/forecast.ts";
import { passStatus } from "../control/status.ts";
import { Observer } from "../control/observe.ts";
import { decide } from "../core/decide.ts";
import type { Observation } from "../core/observation.ts";
import { anyBinaries } from "./binaries.ts";
import type { Controller } from "./controller.ts";
import type { Layout } from "./layout.ts";
import { Lock } from "./lock.ts";
import type { Machine } from "./machine.ts";
import { NotFound } from "./refused.ts";
import { LocalPlatform } from "./platform.ts";
import type { Seen, Subject } from "./verb.ts";

/** The inside of a controller; `down` is what ends it. */
export function liveSubject(
  controller: Controller,
  layout: Layout,
  machine: Machine,
  self: { pid: number; since: number },
  down: () => void,
): Subject {
  return {
    layout,
    disk: machine.seams.disk,
    platform: controller.platform,
    look: async () =>
      controller.loop.latest ?? (await seen(controller.platform, controller.loop.observer, layout)),
    wake: () => controller.loop.wake(),
    transcript: () => controller.transcript.last(100),
    down: async () => await Promise.resolve(down()),
    controller: self,
  };
}

/** Observes a directory by itself. With `change`, under the lock, so that no controller acts meanwhile. */
export async function withDirectory<T>(
  layout: Layout,
  machine: Machine,
  change: boolean,
  work: (subject: Subject) => Promise<T>,
): Promise<T> {
  const { seams } = machine;
  const lock = change ? await Lock.take(layout, seams, "") : undefined;
  try {
    const platform = new LocalPlatform({
      layout,
      seams,
      binaries: anyBinaries,
      isFenced: async () => (await lock?.isLost()) ?? false,
      onEvent: () => undefined,
      onCredentials: machine.onCredentials,
    });
    await platform.load();
    const observer = new Observer(platform, seams.clock);
    return await work({
      layout,
      disk: seams.disk,
      platform,
      look: () => seen(platform, observer, layout),
      wake: () => undefined,
      transcript: () => [],
      down: () => platform.workloads.stopAndWait(platform.workloads.names()),
    });
  } finally {
    await lock?.release();
    await seams.transport.close();
  }
}

async function seen(platform: LocalPlatform, observer: Observer, layout: Layout): Promise<Seen> {
  const observation = await wellObserved(observer);
  if (!observation) throw new NotFound(`there is no cluster in ${layout.dir}`);
  const decision = decide(observation);
  const plan = new Forecast().stepsFor(observation, decision, 0);
  const facts = { observation, decision, problems: [] };
  return { ...facts, status: await passStatus(platform, { ...facts, plan }, undefined) };
}

/** Who looks once has nobody who looks again: a member that runs and did not answer in time is asked once more. */
async function wellObserved(observer: Observer): Promise<Observation | undefined> {
  const first = await observer.observe();
  const isSilent = first?.members.some(
    ({ workload, answer }) => workload.state === "running" && !answer.reachable,
  );
  return isSilent === true ? await observer.observe() : first;
}
