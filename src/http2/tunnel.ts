/**
 * A way to a server through a proxy: CONNECT for http and https proxies, SOCKS 5 (RFC 1928, 1929). The proxy sees where
 * we want to go and then only TLS; it never gets our credentials for the server.
 */
import { request as requestHttp, type RequestOptions } from "node:http";
import { request as requestHttps } from "node:https";
import { connect, type Socket } from "node:net";
import { rootCertificates } from "node:tls";
import type { Clock } from "../seams/clock.ts";
import type { Destination, ProxyLogin } from "./destination.ts";
import { socksHandshake } from "./socks.ts";

/** `ca`: trusted beside the system's authorities, for an https proxy. */
export async function tunnel(
  proxy: string,
  destination: Destination,
  ca: string | undefined,
  clock: Clock,
  withinMs: number,
): Promise<Socket> {
  const url = new URL(proxy);
  const ending = new AbortController();
  const timer = clock.timer(withinMs, () => ending.abort());
  try {
    return url.protocol.startsWith("socks5")
      ? await throughSocks(url, destination, ending.signal)
      : await throughConnect(url, destination, ca, ending.signal);
  } catch (error) {
    const why = ending.signal.aborted ? `no answer within ${withinMs} ms` : (error as Error).message;
    // Without the password that may stand in the URL.
    throw new Error(`the proxy ${url.protocol}//${url.host}: ${why}`, { cause: error });
  } finally {
    timer.cancel();
  }
}

function throughConnect(
  url: URL,
  { host, port }: Destination,
  ca: string | undefined,
  signal: AbortSignal,
): Promise<Socket> {
  const authority = `${host.includes(":") ? `[${host}]` : host}:${port}`;
  const login = loginOf(url);
  const options: RequestOptions = {
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: url.port || (url.protocol === "https:" ? 443 : 80),
    method: "CONNECT",
    path: authority,
    agent: false,
    signal,
    headers: {
      host: authority,
      ...(login && {
        "proxy-authorization": `Basic ${Buffer.from(`${login.user}:${login.password}`).toString("base64")}`,
      }),
    },
  };
  return new Promise((resolve, reject) => {
    const request =
      url.protocol === "https:"
        ? requestHttps({ ...options, ...(ca !== undefined && { ca: [...rootCertificates, ca] }) })
        : requestHttp(options);
    request.once("error", reject);
    request.once("connect", ({ statusCode, statusMessage }, socket, head) => {
      if (statusCode === 200) {
        if (head.length > 0) socket.unshift(head);
        resolve(socket);
        return;
      }
      socket.destroy();
      const hint = statusCode === 407 ? " (put user and password into the URL of the proxy)" : "";
      reject(new Error(`refused to connect to ${authority}: ${statusCode} ${statusMessage}${hint}`));
    });
    // An answer without a tunnel: a server that is no proxy.
    request.once("response", (response) => {
      response.resume();
      reject(
        new Error(`refused to connect to ${authority}: ${response.statusCode} ${response.statusMessage}`),
      );
    });
    request.end();
  });
}

async function throughSocks(url: URL, destination: Destination, signal: AbortSignal): Promise<Socket> {
  const socket = connect({ host: url.hostname.replace(/^\[|\]$/g, ""), port: Number(url.port || 1080) });
  const onAbort = () => socket.destroy(new Error("timed out"));
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once("connect", resolve);
      socket.once("error", reject);
    });
    await socksHandshake(socket, destination, loginOf(url));
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

function loginOf({ username, password }: URL): ProxyLogin | undefined {
  if (username === "") return undefined;
  return { user: decodeURIComponent(username), password: decodeURIComponent(password) };
}
