/** How long a computation takes, for tests that one tenant's objects must not delay those of others. */
import process from "node:process";

export const MOST_MS = 50;

/** Of the CPU, the least of three: others on this machine, the compiler and the collector do not count. */
export function cpuMs(work: () => void): number {
  const once = (): number => {
    const before = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000;
  };
  const first = once();
  return first <= MOST_MS ? first : Math.min(first, once(), once());
}
