/**
 * Ports for servers of tests, below the range from which systems take the ports of outgoing connections: a
 * port from that range may be taken by a connection before its server starts, or starts again. Each is given
 * out once in a process, so that a member that waits for its start finds its port free.
 */
import { systemPorts } from "../../src/seams/ports.ts";

const FIRST = 10_000;
const LAST = 23_000;
let next = FIRST + Math.floor(Math.random() * (LAST - FIRST));

/** Ports of the loopback interface that are free now. */
export async function freePorts(count: number): Promise<number[]> {
  const found: number[] = [];
  for (let tried = FIRST; tried < LAST && found.length < count; tried++) {
    const port = next;
    next = next + 1 < LAST ? next + 1 : FIRST;
    if (await systemPorts.isFree("127.0.0.1", port)) found.push(port);
  }
  if (found.length < count) throw new Error(`no ${count} free ports between ${FIRST} and ${LAST}`);
  return found;
}
