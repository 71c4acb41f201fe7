// The frame of every page: top bar, menu, banner, and what is said when the connection is lost.
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { useOnce } from "../lib/api";
import { session as signedIn } from "../lib/session";
import type { Session } from "../lib/types";
import { ConnectionLost } from "./ConnectionLost";
import { Menu } from "./Menu";
import { TopBar } from "./TopBar";

export function Shell({ children }: { children: ComponentChildren }) {
  const { data: session } = useOnce<Session>("api/session");
  useEffect(() => {
    if (session) signedIn.set(session);
  }, [session]);
  return (
    <>
      <a
        class="skip"
        href="."
        onClick={(event) => {
          event.preventDefault();
          document.querySelector("main")?.focus();
        }}
      >
        Skip to the content
      </a>
      <TopBar session={session} />
      <ConnectionLost />
      {session?.simulated && (
        <p class="banner" role="note">
          A simulated cluster: nothing here is real. <code>vigie up</code> watches this machine.
        </p>
      )}
      <Menu session={session} />
      <main tabIndex={-1}>{children}</main>
    </>
  );
}
