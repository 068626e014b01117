/**
 * The proxy that the environment asks for, by the rules of Go's programs, which kubectl is one of: HTTPS_PROXY and
 * HTTP_PROXY in either case, never for this machine itself, and not for what NO_PROXY lists.
 */
import { BlockList, isIP } from "node:net";
import type { Env } from "./types.ts";

export function proxyFromEnvironment(server: string, env: Env): string | undefined {
  const url = new URL(server);
  const name = url.protocol === "https:" ? "HTTPS_PROXY" : "HTTP_PROXY";
  const proxy = env[name] || env[name.toLowerCase()];
  if (!proxy) return undefined;
  const host = url.hostname.replace(/^\[|\]$/g, "").toLowerCase();
  const port = url.port || (url.protocol === "https:" ? "443" : "80");
  if (isLoopback(host)) return undefined;
  const spared = (env["NO_PROXY"] || env["no_proxy"] || "").split(",").map((one) => one.trim().toLowerCase());
  if (spared.some((one) => one !== "" && matches(one, host, port))) return undefined;
  // `proxy.example:3128` is common, and means http.
  return proxy.includes("://") ? proxy : `http://${proxy}`;
}

function isLoopback(host: string): boolean {
  if (host === "localhost") return true;
  const family = isIP(host);
  if (family === 0) return false;
  const loopback = new BlockList();
  loopback.addSubnet("127.0.0.0", 8, "ipv4");
  loopback.addAddress("::1", "ipv6");
  return loopback.check(host, family === 4 ? "ipv4" : "ipv6");
}

/** `*`, an address, a CIDR, `example.com` (with all below it), `.example.com` (only what is below it); with a port or without. */
function matches(pattern: string, host: string, port: string): boolean {
  if (pattern === "*") return true;
  if (pattern.includes("/")) return inSubnet(pattern, host);
  if (isIP(pattern) !== 0) return pattern === host;
  const [, name = pattern, wantedPort] = /^(.*?)(?::(\d+))?$/.exec(pattern) ?? [];
  if (wantedPort !== undefined && wantedPort !== port) return false;
  const bare = name.replace(/^\[|\]$/g, "").replace(/^\*\./, ".");
  return bare.startsWith(".") ? host.endsWith(bare) : host === bare || host.endsWith(`.${bare}`);
}

function inSubnet(pattern: string, host: string): boolean {
  const [address = "", bits = ""] = pattern.split("/");
  const [family, own] = [isIP(address), isIP(host)];
  if (family === 0 || own !== family || !/^\d+$/.test(bits) || Number(bits) > (family === 4 ? 32 : 128))
    return false;
  const type = family === 4 ? "ipv4" : "ipv6";
  const subnet = new BlockList();
  subnet.addSubnet(address, Number(bits), type);
  return subnet.check(host, type);
}
