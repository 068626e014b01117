/** Why there is no snapshot of the survivor's data. The member's directory is as it was. */
export class RescueError extends Error {
  override name = "RescueError";
}
