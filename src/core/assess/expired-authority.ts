/**
 * A CA that has expired. Nobody accepts a certificate of it any more, and etcd reads CAs only at its start (R45): members
 * whose connections have ended reach neither each other nor us. There is nothing left to hand over; but its successor may
 * take its place only while no process runs that would still accept the old one by a connection of its own.
 */
import type { Action } from "../action.ts";
import type { Plane } from "../facts/authority-facts.ts";
import { isGiven, isSecure } from "../config/flags.ts";
import type { View } from "../view.ts";

export interface Expired {
  readonly plane: Plane;
  readonly expiredAt: number;
  readonly action: Extract<Action, { kind: "RotateAuthority" }>;
}

/** Both clocks have to say so: ours, and the one of the API server. */
export function expiredPlanes(view: View): { readonly plane: Plane; readonly expiredAt: number }[] {
  const { authorities = {} } = view.observation.platform;
  return (["client", "peer"] as const).flatMap((plane) => {
    const { expiresAt = Infinity } = authorities[plane] ?? {};
    const isOver = Math.min(view.now, view.serverNow) > expiresAt && isSecure(view.spec.tls, plane);
    return isOver ? [{ plane, expiredAt: expiresAt }] : [];
  });
}

/** Those that can be replaced. One of ours is created; one of somebody else's is there when all its certificates pass. */
export function replacements(view: View): Expired[] {
  const { authorities = {} } = view.observation.platform;
  return expiredPlanes(view).flatMap(({ plane, expiredAt }): Expired[] => {
    const { current = "", successor } = authorities[plane] ?? {};
    if (isGiven(view.spec.tls, plane) && successor === undefined) return [];
    const action = { kind: "RotateAuthority", plane, to: "Steady", current, turn: "Replace" } as const;
    return [{ plane, expiredAt, action: { ...action, ...(successor !== undefined && { successor }) } }];
  });
}
