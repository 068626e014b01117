/** Maintenance windows: pure calendar arithmetic in UTC. */
import type { MaintenanceWindow } from "../../api/upkeep.ts";

const DAY_MS = 86_400_000;
/** 1970-01-01 was a Thursday. */
const DAYS = ["Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday"] as const;

/** `now` while the window is open, else when it opens next. A window may reach over midnight. */
export function nextOpening(window: MaintenanceWindow, now: number, lengthMs: number): number {
  const [hours = "0", minutes = "0"] = window.start.split(":");
  const offset = (Number(hours) * 60 + Number(minutes)) * 60_000;
  const today = Math.floor(now / DAY_MS);
  for (let day = today - 1; day <= today + 7; day++) {
    const weekday = DAYS[((day % 7) + 7) % 7];
    if (window.days && weekday && !window.days.includes(weekday)) continue;
    const opens = day * DAY_MS + offset;
    if (now >= opens && now < opens + lengthMs) return now;
    if (opens > now) return opens;
  }
  return now + 7 * DAY_MS;
}
