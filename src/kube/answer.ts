/** The body of an answer over HTTP/1.1: JSON where it says so, a text otherwise, and never more than a bound. */
import type { IncomingMessage } from "node:http";

/** More than any Status. */
const LONGEST_ANSWER = 1 << 20;

export async function readBody(response: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length <= LONGEST_ANSWER) chunks.push(chunk);
  }
  const text = Buffer.concat(chunks).toString("utf8");
  if (!response.headers["content-type"]?.includes("json")) return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
