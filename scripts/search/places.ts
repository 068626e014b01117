/**
 * Where keys and passwords belong, so that none is looked for there: the whole list. And what is not read: the data of
 * members, which is their clients', and programs.
 */

/** Of a path from where the search begins, as `/demo/pki/ca.key`. */
const KEPT: readonly (readonly [place: RegExp, why: string])[] = [
  [/\/pki(?:\.new)?\//, "keys of a cluster on one machine, of a testbed, of a node"],
  [/\/secrets\//, "what a person gives to a cluster on one machine"],
  [/\/pods\/[^/]+\/(?:volumes|memory)\//, "what a kubelet mounts into Pods, and their own volumes"],
  [/\/(?:certs|tls|issued)\//, "certificates that a test gives to a program, or is given"],
  [/[/.](?:key|pem|p12)$/, "a file for a key, by its name"],
  [
    /\/quorate-(?:credentials|identity)-[^/]+\/[\w-]+\.json$/,
    "key files of service accounts, for clients of stores",
  ],
  [/(?:^|\/|\.)kubeconfig$|\/kubeconfig[^/.]*$/, "what a client of the API server logs in with"],
  [/\/tokens\.csv$|\.token$/, "tokens of clients of a testbed's API server"],
];

const UNREAD: readonly RegExp[] = [
  // Its log of the API server is read as objects (store.ts).
  /\/member\/(?:wal|snap)\//,
  /\.(?:db|snap|wal|snapshot)(?:\.[a-z]+)*$/,
  // Disks: images of file systems, and what members have on them.
  /\.img$/,
  /\/testbed\/[^/]+\/volumes\//,
  /\/node_modules\//,
  /\/(?:node-compile-cache|jiti)\//,
  // What containerd unpacks and mounts for containers of real nodes.
  /\/containerd\//,
  /\/rootfs\//,
];

/** What the tests of this search hide. */
const PLANTED = /\/planted-leaks\//;
/** What a program tells, wherever it is written. */
const LOG = /\.(?:log|out|txt)$/;

export type Place = "kept" | "unread" | "store" | "told";

/** The log of the etcd behind the API server of a testbed. */
const STORE = /\/testbed\/[^/]+\/etcd\/member\/wal\/(?:[0-9a-f-]+\.wal)?$/;

export function placeOf(named: string): Place {
  if (PLANTED.test(named)) return "kept";
  if (!LOG.test(named) && KEPT.some(([place]) => place.test(named))) return "kept";
  if (STORE.test(named)) return "store";
  return UNREAD.some((one) => one.test(named)) ? "unread" : "told";
}
