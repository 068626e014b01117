/**
 * Opens an HTTP/2 session: TCP or TLS, and the wait for the server's settings, under one timer (a frozen server
 * accepts TCP and never sends them).
 */
import { connect as connectHttp2, type ClientHttp2Session } from "node:http2";
import { connect as connectTcp, isIP, type Socket } from "node:net";
import {
  checkServerIdentity,
  connect as connectTls,
  createSecureContext,
  TLSSocket,
  type ConnectionOptions,
  type SecureContext,
} from "node:tls";
import type { Clock } from "../seams/clock.ts";
import { connectFailure, Http2Failure } from "./failure.ts";
import { tunnel } from "./tunnel.ts";

/** What we trust and show, as PEM. Without `ca`, the system's own authorities are trusted. */
export interface TlsMaterial {
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

/** Where a server is. */
export interface Target {
  readonly url: string;
  /** What the server's certificate must say, when it is not the host of the URL. */
  readonly serverName?: string | undefined;
  /** Take any certificate. */
  readonly insecure?: boolean | undefined;
  /** Connections go through it. */
  readonly proxy?: string | undefined;
}

/** One stream may be this far ahead of its reader: lists and snapshots at full speed need the room. */
const STREAM_WINDOW = 4 * 1024 * 1024;
const SESSION_WINDOW = 16 * 1024 * 1024;

/** The clients of one cluster ask for the same one after the other, and each costs 40 kB. */
let latest: { readonly tls: TlsMaterial; readonly context: SecureContext } | undefined;

export function secureContext(tls: TlsMaterial): SecureContext {
  if (latest !== undefined && sameTls(latest.tls, tls)) return latest.context;
  const { ca, cert, key } = tls;
  const context = createSecureContext({ ca, cert, key, minVersion: "TLSv1.2" });
  latest = { tls, context };
  return context;
}

export function sameTls(a: TlsMaterial, b: TlsMaterial): boolean {
  return a.ca === b.ca && a.cert === b.cert && a.key === b.key;
}

/** Resolves when the server's settings have come, or rejects with a failure that was not sent. */
export async function dial(
  target: Target,
  context: SecureContext | undefined,
  clock: Clock,
  withinMs: number,
  ca?: string,
): Promise<ClientHttp2Session> {
  const socket = await connectTo(target, context, { clock, withinMs, ca, protocol: "h2" });
  const session = connectHttp2(new URL(target.url).origin, {
    createConnection: () => socket,
    settings: { enablePush: false, initialWindowSize: STREAM_WINDOW },
  });
  // Heard for good: one fault may come from both and twice, and every call fails by itself.
  session.on("error", () => undefined);
  socket.on("error", () => undefined);
  try {
    await ready(session, socket, clock, withinMs);
  } catch (error) {
    session.destroy();
    socket.destroy();
    throw connectFailure(error);
  }
  session.setLocalWindowSize(SESSION_WINDOW);
  return session;
}

interface ConnectWishes {
  readonly clock: Clock;
  /** For the way through a proxy; the connection itself is made when the socket says so. */
  readonly withinMs: number;
  /** What an https proxy may be trusted by, beside the system's authorities. */
  readonly ca?: string | undefined;
  /** What is spoken on it. */
  readonly protocol: "h2" | "http/1.1";
}

/** A socket on its way to the server, through the proxy where there is one. */
export async function connectTo(
  target: Target,
  context: SecureContext | undefined,
  { clock, withinMs, ca, protocol }: ConnectWishes,
): Promise<Socket> {
  const url = new URL(target.url);
  const address = { host: url.hostname.replace(/^\[|\]$/g, ""), port: portOf(url) };
  const secure = url.protocol === "https:";
  if (secure && context === undefined)
    throw new Http2Failure("not-sent", "untrusted-server", "no CA is configured for an https endpoint");
  const through =
    target.proxy === undefined
      ? undefined
      : await tunnel(target.proxy, address, ca, clock, withinMs).catch((error: unknown) => {
          throw connectFailure(error);
        });
  const tls = { ...tlsOptions(target, address.host), ALPNProtocols: [protocol], secureContext: context };
  const socket = secure
    ? connectTls({ ...address, ...tls, ...(through && { socket: through }) })
    : (through ?? connectTcp(address));
  socket.setNoDelay(true);
  return socket;
}

function ready(session: ClientHttp2Session, socket: Socket, clock: Clock, withinMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = clock.timer(withinMs, () => settle(new Error(`no connection within ${withinMs} ms`)));
    const settle = (error?: Error) => {
      timer.cancel();
      socket.off("error", settle);
      socket.off("secureConnect", onSecure);
      session.off("error", settle);
      session.off("close", onClose);
      session.off("remoteSettings", onSettings);
      if (error === undefined) resolve();
      else reject(error);
    };
    const onClose = () => settle(new Error("the server closed the connection"));
    const onSettings = () => settle();
    const onSecure = () => {
      if (socket instanceof TLSSocket && socket.alpnProtocol !== "h2")
        settle(new Error("the server does not speak HTTP/2"));
    };
    // A TLS alert after the handshake (our certificate was refused) reaches the socket alone.
    socket.on("error", settle);
    socket.on("secureConnect", onSecure);
    session.on("error", settle);
    session.on("close", onClose);
    session.on("remoteSettings", onSettings);
  });
}

/** Dials the URL's host and verifies the server by `serverName` where one is given. */
function tlsOptions({ serverName, insecure }: Target, host: string): ConnectionOptions {
  const name = serverName ?? host;
  const byAddress = isIP(name) !== 0;
  return {
    // An IP address is verified as such but may not be sent as a server name (RFC 6066).
    servername: byAddress ? "" : name,
    ...(byAddress &&
      name !== host && { checkServerIdentity: (_, shown) => checkServerIdentity(name, shown) }),
    ...(insecure === true && { rejectUnauthorized: false }),
  };
}

function portOf(url: URL): number {
  return url.port === "" ? (url.protocol === "https:" ? 443 : 80) : Number(url.port);
}
