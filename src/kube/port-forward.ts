/**
 * A connection to a port of a Pod, through the API server: a WebSocket with the protocol v4.channel.k8s.io, which the
 * API server and the kubelet pass on to the streaming server of the container runtime. One WebSocket carries one
 * connection; two channels, data and errors, each begin with the number of the port. There is no half-close.
 */
import { Duplex } from "node:stream";
import type { Random } from "../seams/random.ts";
import { errorFromFailure, errorFromResponse, KubeError } from "./errors.ts";
import type { Http2Transport } from "./transport.ts";
import { acceptOf, WebSocketConnection } from "./websocket.ts";

const PROTOCOL = "v4.channel.k8s.io";
const CHANNEL = { data: 0, error: 1 } as const;
/** The port, at the beginning of each channel. */
const PREFIX = 2;

export interface ForwardRequest {
  readonly namespace: string;
  readonly pod: string;
  readonly port: number;
  readonly signal: AbortSignal;
}

/** The far end could not be reached, or was lost: what the node said. */
export class PortForwardError extends Error {
  override name = "PortForwardError";
}

/**
 * Resolves when the API server has agreed; whether something listens on the port shows in the stream. Rejects with a
 * `KubeError`: NotFound for a Pod that is gone, Forbidden without the rights to get and create pods/portforward.
 */
export async function portForward(
  transport: Pick<Http2Transport, "upgrade">,
  random: Random,
  { namespace, pod, port, signal }: ForwardRequest,
): Promise<Duplex> {
  const path = `/api/v1/namespaces/${namespace}/pods/${pod}/portforward`;
  const what = `port-forward to ${namespace}/${pod}:${port}`;
  const key = Buffer.from(random.bytes(16)).toString("base64");
  const answer = await transport
    .upgrade(
      { path, query: { ports: String(port) } },
      {
        connection: "Upgrade",
        upgrade: "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": key,
        "sec-websocket-protocol": PROTOCOL,
      },
      signal,
    )
    .catch((error: unknown) => {
      throw errorFromFailure(what, error);
    });
  if (!answer.ok) throw errorFromResponse(what, answer.response);
  const { socket, head, headers } = answer;
  if (headers["sec-websocket-accept"] !== acceptOf(key) || headers["sec-websocket-protocol"] !== PROTOCOL) {
    socket.destroy();
    throw new KubeError("BadRequest", what, `the server does not speak ${PROTOCOL}`);
  }
  // A node that vanished says nothing: the system asks now and then.
  socket.setKeepAlive(true, 30_000);
  return new ForwardedConnection(
    `${namespace}/${pod}:${port}`,
    (handlers) => new WebSocketConnection(socket, head, random, handlers),
  );
}

type Open = (
  handlers: ConstructorParameters<typeof WebSocketConnection>[3],
) => Pick<WebSocketConnection, "send" | "close" | "destroy" | "pause" | "resume">;

export class ForwardedConnection extends Duplex {
  readonly #what: string;
  readonly #connection: ReturnType<Open>;
  /** Bytes of the port still to come, by channel. */
  readonly #prefix: [number, number] = [PREFIX, PREFIX];

  constructor(what: string, open: Open) {
    super({ allowHalfOpen: false });
    this.#what = what;
    this.#connection = open({
      onMessage: (message) => this.#onMessage(message),
      onEnd: ({ code, reason }) => {
        // 1000 and 1005: the far end closed its side, as any TCP peer may.
        if (code === 1000 || code === 1005 || this.writableEnded) this.push(null);
        else this.destroy(new PortForwardError(`the port-forward to ${what} ended: ${reason || code}`));
      },
    });
  }

  override _read(): void {
    this.#connection.resume();
  }

  override _write(chunk: Uint8Array, _: BufferEncoding, done: (error?: Error | null) => void): void {
    const message = new Uint8Array(chunk.length + 1);
    message[0] = CHANNEL.data;
    message.set(chunk, 1);
    this.#connection.send(message, done);
  }

  override _final(done: () => void): void {
    this.#connection.close();
    done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#connection.destroy();
    done(error);
  }

  #onMessage(message: Buffer): void {
    const channel = message[0];
    if (channel !== CHANNEL.data && channel !== CHANNEL.error) return;
    const skipped = Math.min(this.#prefix[channel], message.length - 1);
    this.#prefix[channel] -= skipped;
    const bytes = message.subarray(1 + skipped);
    if (bytes.length === 0) return;
    if (channel === CHANNEL.error) {
      const said = bytes.toString("utf8").trim().slice(0, 500);
      this.destroy(new PortForwardError(`the port-forward to ${this.#what} failed: ${said}`));
    } else if (!this.push(bytes)) this.#connection.pause();
  }
}
