/** What a new member needs before it can start: an address that the platform offers, and a volume. */
import type { Outcome } from "../action.ts";
import { HOLDS } from "../steps/hold-classes.ts";
import { hold } from "../steps/outcome.ts";
import type { MemberAddress } from "../record.ts";
import type { MemberView, View } from "../view.ts";

export function offer(view: View, ordinal: number): MemberAddress | undefined {
  return view.observation.platform.offers.find((candidate) => candidate.ordinal === ordinal)?.address;
}

export function noAddress(): Outcome {
  return hold(HOLDS.joins, "NoAddress", {});
}

export function awaitVolume({ name, volume }: MemberView): Outcome {
  const why = volume.state === "pending" ? volume.reason : undefined;
  return hold(HOLDS.joinsAndDisruptions, "VolumeAwaited", { member: name, why });
}
