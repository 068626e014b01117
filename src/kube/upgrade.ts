/**
 * A request that turns its connection into something else (a WebSocket). HTTP/2 has no such thing here, so it gets a
 * connection of its own over HTTP/1.1, through the same proxy and with the same credentials as all other calls.
 */
import { request as requestHttp } from "node:http";
import type { Socket } from "node:net";
import type { SecureContext } from "node:tls";
import { connectTo, type Target } from "../http2/dial.ts";
import { connectFailure, ended } from "../http2/failure.ts";
import type { Clock } from "../seams/clock.ts";
import type { KubeResponse } from "../seams/kube-transport.ts";
import { readBody } from "./answer.ts";

export type Upgraded =
  | { readonly ok: true; readonly socket: Socket; readonly head: Buffer; readonly headers: Headers }
  /** The server answered with something else. */
  | { readonly ok: false; readonly response: KubeResponse };

type Headers = Readonly<Record<string, string | string[] | undefined>>;

export interface UpgradeRequest {
  readonly target: Target;
  readonly context: SecureContext | undefined;
  readonly ca: string | undefined;
  /** With the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly clock: Clock;
  readonly connectMs: number;
  readonly signal: AbortSignal;
}

export async function upgrade(request: UpgradeRequest): Promise<Upgraded> {
  const { target, context, ca, path, headers, clock, connectMs, signal } = request;
  const socket = await connectTo(target, context, { clock, withinMs: connectMs, ca, protocol: "http/1.1" });
  return await new Promise((resolve, reject) => {
    const fail = (error: unknown) => {
      socket.destroy();
      settled();
      reject(error instanceof Error ? error : new Error(String(error)));
    };
    const onAbort = () => fail(ended(signal, "not-sent"));
    const timer = clock.timer(connectMs, () =>
      fail(connectFailure(new Error(`no answer within ${connectMs} ms`))),
    );
    const settled = () => {
      timer.cancel();
      signal.removeEventListener("abort", onAbort);
    };
    if (signal.aborted) {
      onAbort();
      return;
    }
    signal.addEventListener("abort", onAbort, { once: true });
    const { host } = new URL(target.url);
    const call = requestHttp({ createConnection: () => socket, path, headers: { host, ...headers } });
    call.once("error", (error) => fail(connectFailure(error)));
    call.once("upgrade", (response, _, head) => {
      settled();
      resolve({ ok: true, socket, head, headers: response.headers });
    });
    call.once("response", (response) => {
      readBody(response).then(
        (body) => {
          settled();
          socket.destroy();
          resolve({ ok: false, response: { status: response.statusCode ?? 0, body } });
        },
        (error: unknown) => fail(error),
      );
    });
    call.end();
  });
}
