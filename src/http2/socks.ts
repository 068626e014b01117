/** The beginning of a SOCKS 5 connection (RFC 1928, with user and password by RFC 1929). Names are resolved by the proxy. */
import { isIPv4 } from "node:net";
import type { Duplex } from "node:stream";
import type { Destination, ProxyLogin } from "./destination.ts";

const VERSION = 5;
const METHOD = { none: 0, password: 2 } as const;
const REFUSALS = [
  "",
  "general failure",
  "not allowed by its rules",
  "network unreachable",
  "host unreachable",
  "connection refused",
  "TTL expired",
  "command not supported",
  "address type not supported",
];

export async function socksHandshake(
  socket: Duplex,
  { host, port }: Destination,
  login: ProxyLogin | undefined,
): Promise<void> {
  const methods = login === undefined ? [METHOD.none] : [METHOD.none, METHOD.password];
  socket.write(Uint8Array.from([VERSION, methods.length, ...methods]));
  const [version, method] = await take(socket, 2);
  if (version !== VERSION) throw new Error("does not speak SOCKS 5");
  if (method === METHOD.password && login !== undefined) {
    socket.write(Buffer.concat([Buffer.from([1]), counted(login.user), counted(login.password)]));
    const [, refused] = await take(socket, 2);
    if (refused !== 0) throw new Error("refused the user or the password");
  } else if (method !== METHOD.none)
    throw new Error("wants a login (put user and password into the URL of the proxy)");
  const address = isIPv4(host)
    ? Buffer.from([1, ...host.split(".").map(Number)])
    : Buffer.concat([Buffer.from([3]), counted(host)]);
  socket.write(Buffer.concat([Buffer.from([VERSION, 1, 0]), address, Buffer.from([port >> 8, port & 255])]));
  const [, code = 1, , type] = await take(socket, 4);
  if (code !== 0)
    throw new Error(`refused to connect to ${host}:${port}: ${REFUSALS[code] ?? `code ${code}`}`);
  const length = type === 1 ? 4 : type === 4 ? 16 : (((await take(socket, 1))[0] ?? 0) as number);
  await take(socket, length + 2);
}

function counted(text: string): Buffer {
  const bytes = Buffer.from(text);
  if (bytes.length > 255) throw new Error("a name or password of more than 255 bytes");
  return Buffer.concat([Buffer.from([bytes.length]), bytes]);
}

/** Exactly this many bytes; what follows stays in the stream. */
async function take(socket: Duplex, length: number): Promise<Buffer> {
  for (;;) {
    const bytes = socket.read(length) as Buffer | null;
    if (bytes?.length === length) return bytes;
    if (bytes !== null || socket.readableEnded || socket.destroyed)
      throw new Error("closed the connection during the handshake");
    await new Promise<void>((resolve, reject) => {
      const done = (error?: Error) => {
        for (const event of ["readable", "end", "close"]) socket.off(event, proceed);
        socket.off("error", done);
        if (error) reject(error);
        else resolve();
      };
      const proceed = () => done();
      for (const event of ["readable", "end", "close"]) socket.once(event, proceed);
      socket.once("error", done);
    });
  }
}
