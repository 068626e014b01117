/** Clients of etcd that come in each way, and whether a server answers them. */
import { connect as connectPlain } from "node:net";
import { connect, type ConnectionOptions } from "node:tls";

export type Client =
  | "plaintext"
  | "anonymous"
  /** `newest`: of the versions of TLS that it speaks. */
  | { readonly pem: string; readonly newest?: "TLSv1.1" };

/** By a request that is answered with something of etcd's own. */
export function isServed(url: string, client: Client): Promise<boolean> {
  const { hostname: host, port } = new URL(url);
  const at = { host, port: Number(port) };
  return new Promise((resolve) => {
    const socket = client === "plaintext" ? connectPlain(at) : connect({ ...at, ...shown(client) });
    let answer = "";
    socket.on(client === "plaintext" ? "connect" : "secureConnect", () =>
      socket.write("GET /version HTTP/1.1\r\nHost: x\r\n\r\n"),
    );
    socket.on("data", (chunk) => {
      answer += String(chunk);
      if (!answer.includes("etcdserver")) return;
      resolve(true);
      socket.destroy();
    });
    // A server that refuses closes the connection, some after an answer in the clear.
    socket.on("error", () => resolve(false));
    socket.on("close", () => resolve(false));
    socket.setTimeout(5_000, () => socket.destroy());
  });
}

function shown(client: Exclude<Client, "plaintext">): ConnectionOptions {
  if (client === "anonymous") return { rejectUnauthorized: false };
  const { pem, newest } = client;
  // What OpenSSL itself holds back has to be asked for.
  const old = newest && { minVersion: "TLSv1", maxVersion: newest, ciphers: "DEFAULT@SECLEVEL=0" };
  return { rejectUnauthorized: false, cert: pem, key: pem, ...old } as ConnectionOptions;
}
