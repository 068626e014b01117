/**
 * Every Pod has one address of 127.0.0.0/8 and no network of its own. What would mean "this Pod" in a network
 * namespace (every address, or loopback) is turned into the Pod's address, in arguments, variables and files,
 * so that two members can both listen on 0.0.0.0:2379. `localhost` is the Pod's address in its /etc/hosts.
 */
const SELF = /(?<![\d.])(?:0\.0\.0\.0|127\.0\.0\.1)(?=:\d)|\[::1?\](?=:\d)/g;

export function ownAddress(text: string, podIP: string): string {
  return text.replace(SELF, podIP);
}
