/**
 * How many connections a small server keeps open. When there are more, the one that has been silent for the longest
 * goes, so that no number of idle connections keeps a probe from being answered.
 */
import type { Server } from "node:http";
import type { Server as TlsServer } from "node:https";
import type { Socket } from "node:net";

export const MOST_CONNECTIONS = 100;

export function limitConnections(server: Server | TlsServer, most = MOST_CONNECTIONS): void {
  // By the other end, which is the same on a connection and on the TLS inside it. A map keeps the order of insertion:
  // the first has been silent for the longest.
  const open = new Map<string, Socket>();
  const endOf = ({ remoteAddress, remotePort }: Socket) => `${remoteAddress} ${remotePort}`;
  server.on("connection", (socket: Socket) => {
    const end = endOf(socket);
    open.set(end, socket);
    socket.once("close", () => {
      if (open.get(end) === socket) open.delete(end);
    });
    if (open.size <= most) return;
    const [silent] = open.values();
    silent?.destroy();
  });
  server.on("request", ({ socket: asking }: { socket: Socket }) => {
    const end = endOf(asking);
    const socket = open.get(end);
    if (socket && open.delete(end)) open.set(end, socket);
  });
}
