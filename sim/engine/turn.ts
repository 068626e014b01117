/**
 * Lets promises come to rest, which is what lets virtual time move on: the one thing in the simulator that asks the
 * machine for it. Nothing simulated waits for the machine, so that the end of Node's queue of promises is enough;
 * its event loop gets its turn now and then, for what the threads of a run tell each other.
 */
import process from "node:process";

const TURN_EVERY = 1_000;
let turns = 0;

export function macrotask(): Promise<void> {
  return new Promise((resolve) => {
    if (++turns % TURN_EVERY === 0) setImmediate(resolve);
    else process.nextTick(resolve);
  });
}
