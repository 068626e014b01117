/** What a role allows to do with objects of a kind. */

/** `record` is our own: the admission policy lets only who has it write EtcdMembers. */
export type KubeVerb =
  | "get"
  | "list"
  | "watch"
  | "create"
  | "update"
  | "patch"
  | "delete"
  | "record"
  | "destroy";
