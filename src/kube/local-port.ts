/**
 * A port on this machine that leads to a port of a Pod, as kubectl port-forward has it: for programs that dial by
 * themselves. Each connection to it is a port-forward of its own.
 */
import { createServer, type AddressInfo, type Socket } from "node:net";
import type { Duplex } from "node:stream";

export interface LocalPort {
  readonly port: number;
  /** Ends all connections. */
  close(): Promise<void>;
}

/** `onProblem` hears why a connection was not made or broke: whoever dials only sees it closed. */
export async function localPort(
  open: () => Promise<Duplex>,
  onProblem: (error: unknown) => void,
): Promise<LocalPort> {
  const streams = new Set<Duplex>();
  const kept = <T extends Duplex>(stream: T): T => {
    streams.add(stream);
    return stream.once("close", () => streams.delete(stream));
  };
  let closed = false;
  const join = async (inner: Socket) => {
    kept(inner).on("error", () => undefined);
    let outer: Duplex;
    try {
      outer = kept(await open());
    } catch (error) {
      inner.destroy();
      if (!closed) onProblem(error);
      return;
    }
    outer.on("error", (error) => {
      if (!closed) onProblem(error);
    });
    outer.once("close", () => inner.destroy());
    inner.once("close", () => outer.destroy());
    if (closed || inner.destroyed) outer.destroy();
    else inner.pipe(outer).pipe(inner);
  };
  const server = createServer((inner) => void join(inner));
  // Nobody but this machine; other users of it still need a certificate for etcd.
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host: "127.0.0.1", port: 0 }, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      closed = true;
      const done = new Promise<void>((resolve) => void server.close(() => resolve()));
      for (const stream of streams) stream.destroy();
      await done;
    },
  };
}
