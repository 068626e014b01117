/**
 * Ports for servers of tests, below the range from which systems take the ports of outgoing connections: a
 * port from that range may be taken by a connection before its server starts, or starts again. Each is given
 * out once in a process, so that a member that waits for its start finds its port free. Test files that run at the
 * same time have ranges of their own, since a port that one was given and does not use yet looks free to another.
 */
import { systemPorts, type Ports } from "../../src/seams/ports.ts";

/** Which of the test files that run at the same time this is; scripts/stages has at most eight. */
const LANE = Number(process.env["QUORATE_LANE"] ?? 0) % 8;
const PER_LANE = 1_600;
const FIRST = 10_000 + LANE * PER_LANE;
const END = FIRST + PER_LANE;
/** Clients that follow the Fetch standard, as Node's, refuse to ask a server there. */
const REFUSED_BY_FETCH = 10_080;
let next = FIRST + Math.floor(Math.random() * PER_LANE);

/** Ports of the loopback interface that are free now. */
export async function freePorts(count: number): Promise<number[]> {
  const found: number[] = [];
  for (let tried = FIRST; tried < END && found.length < count; tried++) {
    const port = next;
    next = next + 1 < END ? next + 1 : FIRST;
    if (port !== REFUSED_BY_FETCH && (await systemPorts.isFree("127.0.0.1", port))) found.push(port);
  }
  if (found.length < count) throw new Error(`no ${count} free ports between ${FIRST} and ${END}`);
  return found;
}

/** A local cluster takes the first block that is free from 23790 on; the program itself, run by a test, from there. */
const FIRST_BLOCK = 23_790 + 1_000 + LANE * 980;

/** The ports of this machine, as far as clusters of this test file may choose among them. */
export const blockPorts: Ports = {
  ...systemPorts,
  isFree: async (host, port) => port >= FIRST_BLOCK && (await systemPorts.isFree(host, port)),
};
