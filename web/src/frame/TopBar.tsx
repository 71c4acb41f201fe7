// The top bar: search, time range, whether it is live, and who is looking.
import { useHeartbeat, useRange } from "../lib/heartbeat";
import { signIn } from "../lib/session";
import { useStore } from "../lib/store";
import { theme, toggle } from "../lib/theme";
import { clock } from "../lib/time";
import type { Session } from "../lib/types";
import { address, here, link, usePlace } from "../lib/url";
import { Search } from "./Search";
import { TimeRange } from "./TimeRange";

export function TopBar({ session }: { session: Session | null }) {
  return (
    <header class="top">
      <a class="brand" href={link("")}>
        vigie
      </a>
      <Search />
      <TimeRange />
      <Live />
      <Theme />
      {session && <Account session={session} />}
    </header>
  );
}

function Live() {
  const { now, lost } = useHeartbeat();
  const { live, at } = useRange();
  if (lost !== null) return <span class="live gone">lost</span>;
  if (live) return <span class="live on">live</span>;
  const text = at !== null ? `at ${clock(at, now)}` : "past";
  return (
    <a class="live off" href={here({ at: null, from: null, to: null })} title="Back to now">
      <span class="narrow">{text}</span> <span aria-hidden="true">×</span>
      <span class="unseen">back to now</span>
    </a>
  );
}

function Theme() {
  const dark = useStore(theme) === "dark";
  return (
    <button type="button" class="icon" onClick={toggle} aria-label={dark ? "Light colours" : "Dark colours"}>
      <svg viewBox="0 0 16 16" aria-hidden="true">
        {dark ? (
          <path d="M8 4.8a3.2 3.2 0 1 0 0 6.400 3.2 3.2 0 0 0 0-6.400zM8 1v1.500M8 13.500V15M1 8h1.500M13.500 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1" />
        ) : (
          <path d="M13 9.500A5.500 5.500 0 0 1 6.500 3 5.500 5.500 0 1 0 13 9.500z" />
        )}
      </svg>
    </button>
  );
}

function Account({ session }: { session: Session }) {
  usePlace(); // the way back changes with it
  if (!session.user) {
    return (
      <a class="who" href={signIn()}>
        Sign in
      </a>
    );
  }
  return (
    <span class="who" title={session.role}>
      <a href={link(`user/${encodeURIComponent(session.user)}`)}>{session.user}</a>
      <button type="button" onClick={() => void signOut()}>
        Sign out
      </button>
    </span>
  );
}

async function signOut(): Promise<void> {
  await fetch(address("api/logout"), { method: "POST" });
  location.reload();
}
