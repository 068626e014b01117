/** Names in URLs, encoded as signatures need them. */

/** RFC 3986: all but letters, digits and `-._~`. */
export function encodePart(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

export function encodePath(key: string): string {
  return key.split("/").map(encodePart).join("/");
}

export function encodeQuery(query: Readonly<Record<string, string>>): string {
  return Object.entries(query)
    .map(([name, value]) => [encodePart(name), encodePart(value)] as const)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${name}=${value}`)
    .join("&");
}
