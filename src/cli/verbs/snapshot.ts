/** `quorate snapshot`: the word for all verbs about snapshots. Each is loaded only when it is called. */
import { verbGroup } from "../verb.ts";

export const verb = verbGroup(
  {
    name: "snapshot",
    summary:
      "take, list, check, fetch, copy, import and prune snapshots of any etcd, and record what changes between",
    about:
      "A snapshot is kept in a directory (file:///backups/ or a path) or in an S3 bucket (s3://bucket/prefix/). Unless it is compressed or encrypted, the object is the file that `etcdctl snapshot save` writes; a manifest beside it says what it holds.",
    examples: [
      {
        does: "Take a snapshot of any etcd",
        line: "snapshot save --endpoints https://10.0.0.1:2379 --cacert ca.pem --cert client.pem --key client-key.pem s3://backups/prod/",
      },
      { does: "List what is there", line: "snapshot ls s3://backups/prod/" },
    ],
  },
  {
    save: async () => (await import("./snapshot/save.ts")).verb,
    follow: async () => (await import("./snapshot/follow.ts")).verb,
    build: async () => (await import("./snapshot/build.ts")).verb,
    "build-fetch": async () => (await import("./snapshot/build-steps.ts")).fetch,
    "build-replay": async () => (await import("./snapshot/build-steps.ts")).replay,
    ls: async () => (await import("./snapshot/ls.ts")).verb,
    status: async () => (await import("./snapshot/status.ts")).verb,
    get: async () => (await import("./snapshot/get.ts")).verb,
    copy: async () => (await import("./snapshot/copy.ts")).verb,
    verify: async () => (await import("./snapshot/verify.ts")).verb,
    "verify-fetch": async () => (await import("./snapshot/verify-steps.ts")).fetch,
    "verify-compare": async () => (await import("./snapshot/verify-steps.ts")).compare,
    "verify-here": async () => (await import("./snapshot/verify-steps.ts")).here,
    import: async () => (await import("./snapshot/import.ts")).verb,
    delete: async () => (await import("./snapshot/delete.ts")).verb,
    stage: async () => (await import("./snapshot/stage.ts")).stage,
    place: async () => (await import("./snapshot/stage.ts")).place,
    prune: async () => (await import("./snapshot/prune.ts")).verb,
  },
);
