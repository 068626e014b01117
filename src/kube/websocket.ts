/**
 * The framing of a WebSocket (RFC 6455), as far as a client of the API server needs it: binary messages, pings, and the
 * end. A connection that was upgraded goes in, messages come out.
 */
import { createHash } from "node:crypto";
import type { Duplex } from "node:stream";
import type { Random } from "../seams/random.ts";

const GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const OPCODE = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;
/** Far beyond what a streaming server sends at once. */
const LONGEST_MESSAGE = 16 * 1024 * 1024;

/** What a server answers to this key, to show that it knows what a WebSocket is. */
export function acceptOf(key: string): string {
  return createHash("sha1").update(`${key}${GUID}`).digest("base64");
}

export interface WebSocketEnd {
  /** RFC 6455, 7.4; 1006 when the connection broke off. */
  readonly code: number;
  readonly reason: string;
}

export interface WebSocketHandlers {
  readonly onMessage: (message: Buffer) => void;
  /** Once. */
  readonly onEnd: (end: WebSocketEnd) => void;
}

export class WebSocketConnection {
  readonly #socket: Duplex;
  readonly #random: Random;
  readonly #handlers: WebSocketHandlers;
  #received: Buffer = Buffer.alloc(0);
  #fragments: Buffer[] = [];
  #ended = false;
  #closing = false;

  /** `head`: what came with the answer to the upgrade. */
  constructor(socket: Duplex, head: Buffer, random: Random, handlers: WebSocketHandlers) {
    this.#socket = socket;
    this.#random = random;
    this.#handlers = handlers;
    // Read with the rest, when whoever opened this has got hold of it.
    if (head.length > 0) socket.unshift(head);
    socket.on("data", (chunk: Buffer) => this.#take(chunk));
    socket.on("error", (error) => this.#end({ code: 1006, reason: error.message }));
    socket.on("end", () => this.#end({ code: 1006, reason: "the connection closed" }));
    socket.on("close", () => this.#end({ code: 1006, reason: "the connection closed" }));
  }

  /** `done` is called when the connection has taken it. */
  send(message: Uint8Array, done: (error?: Error | null) => void): void {
    if (this.#ended || this.#closing) done(new Error("the connection is closed"));
    else this.#write(OPCODE.binary, message, done);
  }

  /** Reading stops and goes on: the server waits meanwhile. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  close(): void {
    if (this.#ended || this.#closing) return;
    this.#closing = true;
    // 1000: done. The server answers with the same; what it does after that is its own affair.
    this.#write(OPCODE.close, Buffer.from([3, 232]), () => this.#socket.end());
  }

  destroy(): void {
    this.#ended = true;
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    for (;;) {
      const frame = frameIn(this.#received);
      if (frame === undefined || this.#ended) return;
      if (frame === "invalid") {
        this.#socket.destroy();
        this.#end({ code: 1002, reason: "received a frame that is not valid" });
        return;
      }
      this.#received = this.#received.subarray(frame.length);
      this.#handle(frame);
    }
  }

  #handle({ opcode, final, payload }: Frame): void {
    switch (opcode) {
      case OPCODE.close: {
        const code = payload.length >= 2 ? payload.readUInt16BE(0) : 1005;
        this.close();
        this.#end({ code, reason: payload.subarray(2).toString("utf8") });
        return;
      }
      case OPCODE.ping:
        if (!this.#closing) this.#write(OPCODE.pong, payload, () => undefined);
        return;
      case OPCODE.pong:
        return;
      default: {
        this.#fragments.push(payload);
        if (!final) return;
        const [first] = this.#fragments;
        const message =
          this.#fragments.length === 1 && first !== undefined ? first : Buffer.concat(this.#fragments);
        this.#fragments = [];
        this.#handlers.onMessage(message);
      }
    }
  }

  #end(end: WebSocketEnd): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#handlers.onEnd(end);
  }

  #write(opcode: number, payload: Uint8Array, done: (error?: Error | null) => void): void {
    // A client masks what it sends, so that no proxy on the way can be made to see a request in it.
    this.#socket.write(frameOf(opcode, payload, this.#random.bytes(4)), done);
  }
}

interface Frame {
  readonly opcode: number;
  readonly final: boolean;
  readonly payload: Buffer;
  /** Of the whole frame. */
  readonly length: number;
}

/** The frame at the beginning; undefined while it is not whole. A server does not mask. */
function frameIn(bytes: Buffer): Frame | "invalid" | undefined {
  const [first, second] = bytes;
  if (first === undefined || second === undefined) return undefined;
  if ((first & 0x70) !== 0 || (second & 0x80) !== 0) return "invalid";
  const short = second & 0x7f;
  const header = short === 126 ? 4 : short === 127 ? 10 : 2;
  if (bytes.length < header) return undefined;
  const size =
    short === 126 ? bytes.readUInt16BE(2) : short === 127 ? Number(bytes.readBigUInt64BE(2)) : short;
  if (size > LONGEST_MESSAGE) return "invalid";
  if (bytes.length < header + size) return undefined;
  return {
    opcode: first & 0x0f,
    final: (first & 0x80) !== 0,
    payload: bytes.subarray(header, header + size),
    length: header + size,
  };
}

export function frameOf(opcode: number, payload: Uint8Array, mask: Uint8Array): Buffer {
  const size = payload.length;
  const extra = size < 126 ? 0 : size < 65_536 ? 2 : 8;
  const frame = Buffer.alloc(2 + extra + 4 + size);
  frame[0] = 0x80 | opcode;
  frame[1] = 0x80 | (extra === 0 ? size : extra === 2 ? 126 : 127);
  if (extra === 2) frame.writeUInt16BE(size, 2);
  if (extra === 8) frame.writeBigUInt64BE(BigInt(size), 2);
  frame.set(mask, 2 + extra);
  const start = 6 + extra;
  for (let i = 0; i < size; i++) frame[start + i] = (payload[i] ?? 0) ^ (mask[i & 3] ?? 0);
  return frame;
}
