/**
 * A name server for Pods: answers A questions about the cluster's names and says "no such name" to the rest.
 * It needs port 53, which without root is often not to be had; then names go into /etc/hosts instead.
 */
import { createSocket } from "node:dgram";
import type { Socket } from "node:dgram";

const A = 1;
const NXDOMAIN = 3;
const TTL_S = 1;

/** Undefined when the port is not ours to take. */
export function serveDns(
  address: string,
  lookup: (name: string) => string[] | undefined,
): Promise<Socket | undefined> {
  return new Promise((resolve, reject) => {
    const socket = createSocket("udp4");
    socket.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EACCES" || error.code === "EADDRINUSE") resolve(undefined);
      else reject(error);
    });
    socket.on("message", (question, from) => {
      const reply = answer(question, lookup);
      if (reply) socket.send(reply, from.port, from.address);
    });
    socket.bind(53, address, () => resolve(socket));
  });
}

/** The reply to one message; undefined for what is no question. */
export function answer(message: Buffer, lookup: (name: string) => string[] | undefined): Buffer | undefined {
  if (message.length < 17 || message.readUInt16BE(4) !== 1 || (message.readUInt8(2) & 0x80) !== 0)
    return undefined;
  const labels: string[] = [];
  let at = 12;
  for (;;) {
    const length = message[at];
    if (length === undefined || length > 63) return undefined;
    at++;
    if (length === 0) break;
    labels.push(message.toString("latin1", at, at + length));
    at += length;
  }
  if (at + 4 > message.length) return undefined;
  const type = message.readUInt16BE(at);
  const addresses = lookup(labels.join(".").toLowerCase());
  const ips = type === A ? (addresses ?? []) : [];
  const header = Buffer.alloc(12);
  header.writeUInt16BE(message.readUInt16BE(0), 0);
  // A response, authoritative, recursion as desired and available.
  header.writeUInt16BE(0x8480 | (message.readUInt16BE(2) & 0x0100) | (addresses ? 0 : NXDOMAIN), 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(ips.length, 6);
  const records = ips.map((ip) => {
    const record = Buffer.alloc(16);
    record.writeUInt16BE(0xc00c, 0); // the name of the question
    record.writeUInt16BE(A, 2);
    record.writeUInt16BE(1, 4);
    record.writeUInt32BE(TTL_S, 6);
    record.writeUInt16BE(4, 10);
    ip.split(".").forEach((part, index) => record.writeUInt8(Number(part), 12 + index));
    return record;
  });
  return Buffer.concat([header, message.subarray(12, at + 4), ...records]);
}
