// Who is looking, and what they may do with traces.
import { store, useStore } from "./store";
import type { Session } from "./types";
import { address, here } from "./url";

export const session = store<Session | null>(null);

export function useSession(): Session | null {
  return useStore(session);
}

/** Tell whether somebody may take traces and stacks: of their own jobs, or as an admin of all. */
export function mayTrace(who: Session | null): boolean {
  return who !== null && ["user", "admin"].includes(who.role);
}

/** Tell whether somebody may look at traces; those of a simulated cluster are for everyone. */
export function maySeeTraces(who: Session | null): boolean {
  return who !== null && (mayTrace(who) || (who.simulated && who.privacy === "open"));
}

/** Return the address of the sign-in, which leads back here. */
export function signIn(): string {
  return address(`login?next=${encodeURIComponent(here({}).replace("./", ""))}`);
}
