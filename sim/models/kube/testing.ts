/** For tests: a model API server with the product's own client, on virtual time. */
import { KubeClient } from "../../../src/kube/client.ts";
import { VirtualClock } from "../../engine/clock.ts";
import { SeededRandom } from "../../engine/random.ts";
import { Scheduler } from "../../engine/scheduler.ts";
import { KubeFront, type FrontOptions } from "./front.ts";
import { ModelServer } from "./server.ts";

export function kubeBench(seed = 1, options: Partial<FrontOptions> = {}) {
  const random = new SeededRandom(seed);
  const scheduler = new Scheduler(random.fork());
  const clock = new VirtualClock(scheduler);
  const server = new ModelServer({ random: random.fork(), now: () => clock.now() });
  const front = new KubeFront({ server, scheduler, random: random.fork(), ...options });
  const client = (who: string) => new KubeClient({ transport: front.connect(who), clock, fieldManager: who });
  /** Lets virtual time pass. */
  const pass = (ms: number) => scheduler.runAsyncUntil(scheduler.now + ms);
  /** What a call comes to, while time passes. */
  const done = async <T>(call: Promise<T>, patienceMs = 60_000): Promise<T> => {
    let settled = false;
    const ended = call.then(
      () => (settled = true),
      () => (settled = true),
    );
    await scheduler.runAsyncUntil(scheduler.now + patienceMs, () => settled);
    await ended;
    return await call;
  };
  return { random, scheduler, clock, server, front, client, pass, done };
}
