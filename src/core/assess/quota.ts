/**
 * How large a member's database may become. That is what it was started with: an edited spec gives nobody room until
 * the member was restarted with it.
 */
import { bytesOf } from "../../api/quantity.ts";
import type { MemberView } from "../view.ts";

/**
 * As etcd itself says, else as its record does if it was started from that, other than in resources that it is given as
 * it runs; undefined while nobody can tell.
 */
export function runningQuota({ answer, record, upToDate, resizing }: MemberView): number | undefined {
  if (answer.reachable && answer.dbSizeQuota !== undefined) return answer.dbSizeQuota;
  return upToDate || resizing ? bytesOf(record.template.options.quotaBackendBytes) : undefined;
}
