/**
 * How many connections a small server keeps open. When there are more, the one that has been silent for the longest
 * goes, so that no number of idle connections keeps a probe from being answered.
 */
import type { Server } from "node:http";
import type { Socket } from "node:net";

export const MOST_CONNECTIONS = 100;

export function limitConnections(server: Server, most = MOST_CONNECTIONS): void {
  // A set keeps the order of insertion: the first has been silent for the longest.
  const open = new Set<Socket>();
  const heardFrom = (socket: Socket) => {
    if (open.delete(socket)) open.add(socket);
  };
  server.on("connection", (socket: Socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
    if (open.size <= most) return;
    const [silent] = open;
    silent?.destroy();
  });
  server.on("request", ({ socket }) => heardFrom(socket));
}
