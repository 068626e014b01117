/** IP addresses and ranges, judged as the API server's CEL library judges them. */

/** Eight groups of hex, `::` at most once, an IPv4 tail allowed; but not an IPv4 address in disguise, as CEL has it. */
export function isIPv6(address: string): boolean {
  const halves = address.split("::");
  if (halves.length > 2) return false;
  const [head = [], tail = []] = halves.map((half) => (half === "" ? [] : half.split(":")));
  const last = (halves.length === 2 ? tail : head).at(-1) ?? "";
  const ipv4 = last.includes(".");
  if (ipv4 && !isIPv4(last)) return false;
  if (ipv4) (halves.length === 2 ? tail : head).splice(-1, 1, "0", "0");
  const missing = 8 - head.length - tail.length;
  if (halves.length === 2 ? missing < 1 : missing !== 0) return false;
  const groups = [...head, ...Array.from({ length: missing }, () => "0"), ...tail];
  if (!groups.every((group) => /^[0-9a-f]{1,4}$/.test(group))) return false;
  return (
    groups
      .slice(0, 6)
      .map((group) => Number.parseInt(group, 16))
      .join() !== "0,0,0,0,0,65535"
  );
}

export function isIPv4(address: string): boolean {
  const parts = address.split(".");
  return (
    parts.length === 4 && parts.every((part) => /^(0|[1-9][0-9]{0,2})$/.test(part) && Number(part) <= 255)
  );
}

/** `10.0.0.0/8`, `2001:db8::/32`: an address, and how many of its bits count. */
export function isCIDR(range: string): boolean {
  const [address = "", bits = "", ...more] = range.split("/");
  if (more.length > 0 || !/^(0|[1-9][0-9]{0,2})$/.test(bits)) return false;
  if (isIPv4(address)) return Number(bits) <= 32;
  return isIPv6(address) && Number(bits) <= 128;
}
