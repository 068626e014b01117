/** Proxies in the test's own process: CONNECT with a password, and SOCKS 5. They count what goes through them. */
import { createServer as createHttp } from "node:http";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import type { Duplex } from "node:stream";

export interface Proxy {
  readonly port: number;
  readonly opened: () => number;
  close(): void;
}

export async function connectProxy(user: string, password: string): Promise<Proxy> {
  const expected = `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
  const sockets = new Set<Duplex>();
  let opened = 0;
  const server = createHttp((_, response) => response.writeHead(405).end());
  server.on("connect", (request, inner, head) => {
    sockets.add(inner);
    if (request.headers["proxy-authorization"] !== expected) {
      inner.end("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n");
      return;
    }
    const target = new URL(`tcp://${request.url}`);
    const outer = connect({ host: target.hostname, port: Number(target.port) }, () => {
      opened++;
      inner.write("HTTP/1.1 200 Connection established\r\n\r\n");
      outer.write(head);
      joined(inner, outer);
    });
    sockets.add(outer);
    outer.on("error", () => inner.end("HTTP/1.1 502 Bad Gateway\r\n\r\n"));
  });
  return await listening(server, sockets, () => opened);
}

export async function socksProxy(): Promise<Proxy> {
  const sockets = new Set<Duplex>();
  let opened = 0;
  const server = createServer((inner) => {
    sockets.add(inner);
    inner.once("data", () => {
      inner.write(Uint8Array.from([5, 0]));
      inner.once("data", (request) => {
        // Version, command, reserved, type 1, four bytes of address, two of port.
        const host = [...request.subarray(4, 8)].join(".");
        const outer = connect({ host, port: request.readUInt16BE(8) }, () => {
          opened++;
          inner.write(Uint8Array.from([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]));
          joined(inner, outer);
        });
        sockets.add(outer);
        outer.on("error", () => inner.end(Uint8Array.from([5, 5, 0, 1, 0, 0, 0, 0, 0, 0])));
      });
    });
  });
  return await listening(server, sockets, () => opened);
}

function joined(inner: Duplex, outer: Socket): void {
  inner.on("error", () => outer.destroy()).on("close", () => outer.destroy());
  outer.on("error", () => inner.destroy()).on("close", () => inner.destroy());
  inner.pipe(outer).pipe(inner);
}

async function listening(server: Server, sockets: Set<Duplex>, opened: () => number): Promise<Proxy> {
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    opened,
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
