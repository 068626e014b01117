/** Refused because of what was asked, not because something broke. */
export class Refused extends Error {
  override name = "Refused";
}

/** There is no such cluster, member or object. */
export class NotFound extends Refused {
  override name = "NotFound";
}
