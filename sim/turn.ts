/**
 * One turn of Node's event loop. Promises that wait only for each other have all come to rest after it,
 * which is what lets virtual time move on: the one thing in the simulator that asks the machine for it.
 */

export function macrotask(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
