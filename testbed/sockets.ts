/**
 * Listening sockets, as the kernel tells.
 */
import { readFileSync } from "node:fs";

/** Listening TCP sockets on 127.<slot>.0.0/16, as "address:port". */
export function listeners(slot: number): string[] {
  const rows = readFileSync("/proc/net/tcp", "utf8").trim().split("\n").slice(1);
  return rows.flatMap((row) => {
    const [, local = "", , state] = row.trim().split(/\s+/);
    const [address = "", port = ""] = local.split(":");
    const bytes = Buffer.from(address, "hex").reverse(); // the kernel prints it in host order
    const ours = state === "0A" && bytes[0] === 127 && bytes[1] === slot;
    return ours ? [`${bytes.join(".")}:${parseInt(port, 16)}`] : [];
  });
}
